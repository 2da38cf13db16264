package processes

import (
	"net"
	"strconv"
	"testing"

	"github.com/holdfast-go/holdfast/internal/must"
)

// The members of a Redis Cluster talk to each other 10,000 ports above, and a restarted
// server wants its port back.
func TestFreePortIsBelowTheKernelsRange(t *testing.T) {
	seen := map[int]bool{}
	for range 100 {
		port, err := FreePort()
		must.Succeed(t, err)
		if seen[port] || port+10000 > 65535 || port >= ephemeral() {
			t.Errorf("port %d: given before %v, the kernel gives those from %d on", port, seen[port], ephemeral())
		}
		seen[port] = true
		l, err := net.Listen("tcp4", "127.0.0.1:"+strconv.Itoa(port))
		must.Succeed(t, err)
		if !PortTaken(port) {
			t.Errorf("port %d has a listener, and is free", port)
		}
		must.Succeed(t, l.Close())
		if PortTaken(port) {
			t.Errorf("port %d has no listener, and is taken", port)
		}
	}
}
