package processes

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Remotes lists the addresses that the process and its children are connected
// to over TCP, or are about to be.
func (p *Process) Remotes() ([]string, error) {
	inodes, err := socketsOfGroup(p.cmd.Process.Pid)
	if err != nil {
		return nil, fmt.Errorf("look at the sockets of %s: %w", p.Name(), err)
	}
	var all []string
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		b, err := os.ReadFile(table)
		if errors.Is(err, fs.ErrNotExist) {
			continue // this machine has no IPv6
		}
		if err != nil {
			return nil, err
		}
		for _, line := range strings.Split(string(b), "\n")[1:] {
			// number: local remote state ... inode ...
			f := strings.Fields(line)
			if len(f) < 10 || !inodes[f[9]] || (f[3] != established && f[3] != connecting) {
				continue
			}
			addr, err := tableAddress(f[2])
			if err != nil {
				return nil, fmt.Errorf("read %s: %w", table, err)
			}
			all = append(all, addr)
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// States of a connection, as the kernel's tables have them.
const established, connecting = "01", "02"

// socketsOfGroup are the inodes of all sockets of a process group.
func socketsOfGroup(group int) (map[string]bool, error) {
	members, err := membersOf(group)
	if err != nil {
		return nil, err
	}
	inodes := map[string]bool{}
	for _, dir := range members {
		fds, err := filepath.Glob(dir + "/fd/*")
		if err != nil {
			return nil, err
		}
		for _, fd := range fds {
			to, err := os.Readlink(fd)
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
				continue // closed meanwhile
			}
			if err != nil {
				return nil, err
			}
			if inode, ok := strings.CutPrefix(to, "socket:["); ok {
				inodes[strings.TrimSuffix(inode, "]")] = true
			}
		}
	}
	return inodes, nil
}

// tableAddress reads an address of the kernel's tables: 0100007F:1F90, every
// four bytes little-endian. IPv4 within IPv6 is IPv4.
func tableAddress(text string) (string, error) {
	host, port, _ := strings.Cut(text, ":")
	ip, err := hex.DecodeString(host)
	if err != nil {
		return "", err
	}
	n, err := strconv.ParseUint(port, 16, 16)
	if err != nil {
		return "", err
	}
	for i := 0; i+4 <= len(ip); i += 4 {
		slices.Reverse(ip[i : i+4])
	}
	return (&net.TCPAddr{IP: ip, Port: int(n)}).String(), nil
}
