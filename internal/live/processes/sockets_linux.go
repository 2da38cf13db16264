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

// socket is an end of a TCP connection, as the kernel's tables have it.
type socket struct {
	local, remote string // host:port
	state         string
	inode         string
}

// States of a connection, as the kernel's tables have them.
const established, connecting = "01", "02"

// sockets lists the ends of all TCP connections of this machine.
func sockets() ([]socket, error) {
	var all []socket
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} { // an IPv4 address ends an IPv6 one
		b, err := os.ReadFile(table)
		if errors.Is(err, fs.ErrNotExist) {
			continue // this machine has no IPv6
		}
		if err != nil {
			return nil, err
		}
		for _, line := range strings.Split(string(b), "\n")[1:] {
			f := strings.Fields(line) // number: local remote state ... inode ...
			if len(f) < 10 {
				continue
			}
			local, err := tableAddress(f[1])
			remote, err2 := tableAddress(f[2])
			if err := errors.Join(err, err2); err != nil {
				return nil, fmt.Errorf("read %s: %w", table, err)
			}
			all = append(all, socket{local, remote, f[3], f[9]})
		}
	}
	return all, nil
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

// socketsOf are the inodes of the sockets of the processes in directories below
// /proc.
func socketsOf(processes []string) (map[string]bool, error) {
	inodes := map[string]bool{}
	for _, dir := range processes {
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

// Remotes lists the addresses that the process and its children are connected
// to over TCP, or are about to be.
func (p *Process) Remotes() ([]string, error) {
	members, err := membersOf(p.cmd.Process.Pid)
	if err != nil {
		return nil, fmt.Errorf("look at the sockets of %s: %w", p.Name(), err)
	}
	own, err := socketsOf(members)
	if err != nil {
		return nil, fmt.Errorf("look at the sockets of %s: %w", p.Name(), err)
	}
	all, err := sockets()
	if err != nil {
		return nil, err
	}
	var remotes []string
	for _, s := range all {
		if own[s.inode] && (s.state == established || s.state == connecting) {
			remotes = append(remotes, s.remote)
		}
	}
	slices.Sort(remotes)
	return slices.Compact(remotes), nil
}

// A bundled server's source port is arbitrary, so we identify the peer by its
// socket's owner in /proc.

// SocketInode is the number of the socket that connects from to to in the kernel's
// tables, or "".
func SocketInode(from, to *net.TCPAddr) string {
	all, err := sockets()
	if err != nil {
		return ""
	}
	i := slices.IndexFunc(all, func(s socket) bool { return s.local == from.String() && s.remote == to.String() })
	if i < 0 {
		return ""
	}
	return all[i].inode
}

// HasSocket reports whether a process, or one that it has started, has a socket,
// by the socket's number.
func HasSocket(pid int, inode string) bool {
	return slices.ContainsFunc(append(descendants(pid), pid), func(p int) bool {
		inodes, err := socketsOf([]string{fmt.Sprintf("/proc/%d", p)})
		return err == nil && inodes[inode]
	})
}

func descendants(pid int) []int {
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		return nil
	}
	var all []int
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue // it has ended
		}
		for _, f := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(f); err == nil {
				all = append(append(all, child), descendants(child)...)
			}
		}
	}
	return all
}
