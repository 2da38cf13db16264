package processes

import (
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A bundled server's source port is arbitrary, so we identify the peer by its
// socket's owner in /proc.

// HasSocket reports whether a process, or one that it has started, has a socket,
// by the socket's number.
func HasSocket(pid int, inode string) bool {
	for _, p := range append(descendants(pid), pid) {
		if owns(p, inode) {
			return true
		}
	}
	return false
}

// descendants are the processes that a process has started, directly or not.
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

func owns(pid int, inode string) bool {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		return false
	}
	for _, f := range files {
		if target, err := os.Readlink(f); err == nil && target == "socket:["+inode+"]" {
			return true
		}
	}
	return false
}

// SocketInode is the number of the socket that connects from to to in the kernel's
// tables, or "".
func SocketInode(from, to *net.TCPAddr) string {
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} { // an IPv4 address ends an IPv6 one
		text, err := os.ReadFile(table)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line)
			if len(f) > 9 && strings.HasSuffix(f[1], listed(from)) && strings.HasSuffix(f[2], listed(to)) {
				return f[9]
			}
		}
	}
	return ""
}

// listed is an address as the kernel writes it: 0100007F:1F90 is 127.0.0.1:8080
// with the lowest byte first.
func listed(a *net.TCPAddr) string {
	return fmt.Sprintf("%08X:%04X", binary.NativeEndian.Uint32(a.IP.To4()), a.Port)
}
