package processes

import (
	"errors"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// FreePort assigns a port of 127.0.0.1 to a server that cannot choose a free one
// itself. The port is below the kernel's range for outgoing connections, so that
// the port of a stopped server stays free for its restart. This process does not
// assign a port again before all others had their turn. A server that finds its
// port taken asks again. FreePort is safe for concurrent use.
func FreePort() (int, error) {
	ports.Lock()
	defer ports.Unlock()
	low, high := 10000, ephemeral()
	if high-low < 1000 { // an unusual machine: the upper ports must do
		low, high = 20000, 65536
	}
	if ports.next == 0 {
		ports.next = os.Getpid() * 64 // two harnesses start apart
	}
	for range high - low {
		port := low + ports.next%(high-low)
		ports.next++
		l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		return port, l.Close()
	}
	return 0, errors.New("no free port on 127.0.0.1")
}

// PortTaken reports whether a process listens on a port of 127.0.0.1. Port 0 is never
// taken.
func PortTaken(port int) bool {
	l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err == nil {
		l.Close()
	}
	return errors.Is(err, syscall.EADDRINUSE)
}

var ports struct {
	sync.Mutex
	next int
}

// ephemeral is the first port that the kernel gives to outgoing connections.
func ephemeral() int {
	b, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err == nil {
		if f := strings.Fields(string(b)); len(f) == 2 {
			if low, err := strconv.Atoi(f[0]); err == nil {
				return low
			}
		}
	}
	return 32768
}
