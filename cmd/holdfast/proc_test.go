package main

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/must"
)

// process is a process of the machine, from /proc. Its pid and start together
// identify it for ever.
type process struct {
	pid, parent int
	start       string
	name, dir   string // its command line and its directory
}

// processesOf lists the running processes, without zombies.
func processesOf(t *testing.T) []process {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	must.Succeed(t, err)
	var all []process
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it has just ended
		}
		// pid (name) state parent ... start: the name may contain any character.
		from, to := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
		f := strings.Fields(string(stat[to+1:]))
		if from < 0 || len(f) < 20 || f[0] == "Z" || f[0] == "X" {
			continue
		}
		p := process{start: f[19], name: string(stat[from+1 : to])}
		p.pid, _ = strconv.Atoi(filepath.Base(filepath.Dir(path)))
		p.parent, _ = strconv.Atoi(f[1])
		p.dir, _ = os.Readlink(fmt.Sprintf("/proc/%d/cwd", p.pid))
		all = append(all, p)
	}
	return all
}

// descendants are the children of a process, and theirs.
func descendants(t *testing.T, pid int) []process {
	t.Helper()
	all := processesOf(t)
	family := []int{pid}
	var found []process
	for i := 0; i < len(family); i++ {
		for _, p := range all {
			if p.parent == family[i] {
				family, found = append(family, p.pid), append(found, p)
			}
		}
	}
	return found
}

// survivors are those of the given processes that still run, and any other that
// runs below a directory.
func survivors(t *testing.T, of []process, dir string) []process {
	t.Helper()
	return slices.DeleteFunc(processesOf(t), func(p process) bool {
		known := slices.ContainsFunc(of, func(o process) bool { return o.pid == p.pid && o.start == p.start })
		return !known && !strings.HasPrefix(p.dir, dir+"/")
	})
}

// socket is a TCP or UDP socket of a process. The whole network can reach it
// unless its addresses are loopback.
type socket struct {
	protocol      string
	local, remote netip.AddrPort
	listening     bool
}

func (s socket) String() string { return fmt.Sprintf("%s %s -> %s", s.protocol, s.local, s.remote) }

// onlyLoopback reports whether both ends are on this machine.
func (s socket) onlyLoopback() bool {
	inside := func(a netip.Addr) bool { return a.Unmap().IsLoopback() }
	return inside(s.local.Addr()) && (s.listening || inside(s.remote.Addr()))
}

// socketsOf lists the sockets that a process has open; none if it has ended.
func socketsOf(t *testing.T, pid int) []socket {
	t.Helper()
	own := map[string]bool{}
	fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, fd := range fds {
		to, err := os.Readlink(fd)
		if inode, ok := strings.CutPrefix(to, "socket:["); err == nil && ok {
			own[strings.TrimSuffix(inode, "]")] = true
		}
	}
	var found []socket
	for _, protocol := range []string{"tcp", "tcp6", "udp", "udp6", "udplite", "udplite6", "raw", "raw6"} {
		table, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, protocol))
		if err != nil {
			continue // the process has ended, or the machine lacks the protocol
		}
		for _, line := range strings.Split(string(table), "\n")[1:] {
			// sl local remote state queues timer retransmits uid timeout inode
			if f := strings.Fields(line); len(f) > 9 && own[f[9]] {
				found = append(found, socket{protocol, address(t, f[1]), address(t, f[2]), f[3] == "0A"})
			}
		}
	}
	return found
}

// address reads 0100007F:1F90: words of the address little-endian, the port
// not.
func address(t *testing.T, text string) netip.AddrPort {
	t.Helper()
	host, port, _ := strings.Cut(text, ":")
	b, err := hex.DecodeString(host)
	n, portErr := strconv.ParseUint(port, 16, 16)
	if err != nil || portErr != nil || len(b)%4 != 0 {
		t.Fatalf("no address: %q", text)
	}
	for word := range slices.Chunk(b, 4) {
		slices.Reverse(word)
	}
	a, ok := netip.AddrFromSlice(b)
	if !ok {
		t.Fatalf("no address: %q", text)
	}
	return netip.AddrPortFrom(a, uint16(n))
}

// The tests of open sockets depend on what this function finds.
func TestSocketsAreSeen(t *testing.T) {
	open := func(network, where string) net.Addr {
		l, err := net.Listen(network, where)
		if err != nil {
			t.Skipf("not tried: %v", err) // a machine without IPv6
		}
		t.Cleanup(func() { l.Close() })
		return l.Addr()
	}
	for _, c := range []struct {
		network, where string
		loopback       bool
	}{
		{"tcp4", "127.0.0.1:0", true}, {"tcp4", "127.1.2.3:0", true}, {"tcp4", "0.0.0.0:0", false},
		{"tcp6", "[::1]:0", true}, {"tcp6", "[::]:0", false},
	} {
		t.Run(c.network+" "+c.where, func(t *testing.T) {
			want := netip.MustParseAddrPort(open(c.network, c.where).String())
			i := slices.IndexFunc(socketsOf(t, os.Getpid()), func(s socket) bool { return s.local == want && s.listening })
			if i < 0 {
				t.Fatalf("%s is not among %v", want, socketsOf(t, os.Getpid()))
			}
			if s := socketsOf(t, os.Getpid())[i]; s.onlyLoopback() != c.loopback {
				t.Errorf("%s: only loopback is %v", s, !c.loopback)
			}
		})
	}
}
