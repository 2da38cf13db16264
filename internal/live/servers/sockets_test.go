package servers

import (
	"encoding/hex"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
)

// socket is a line of /proc/net/tcp.
type socket struct {
	local, remote *net.TCPAddr
	listening     bool
}

func sockets(t *testing.T) []socket {
	t.Helper()
	b, err := os.ReadFile("/proc/net/tcp")
	check(t, err)
	addr := func(text string) *net.TCPAddr { // 0100007F:1F90, the address little-endian
		host, port, _ := strings.Cut(text, ":")
		ip, err := hex.DecodeString(host)
		check(t, err)
		n, err := strconv.ParseUint(port, 16, 16)
		check(t, err)
		return &net.TCPAddr{IP: net.IPv4(ip[3], ip[2], ip[1], ip[0]), Port: int(n)}
	}
	var all []socket
	for _, line := range strings.Split(string(b), "\n")[1:] {
		if f := strings.Fields(line); len(f) > 3 {
			all = append(all, socket{addr(f[1]), addr(f[2]), f[3] == "0A"})
		}
	}
	return all
}

// behindProxies fails the test when a server listens to anything but 127.0.0.1. It also
// fails when a server has a connection from another one that does not come through its
// door.
func behindProxies(t *testing.T, s *Servers) {
	t.Helper()
	owner, door := map[int]string{}, map[int]string{}
	sources := map[string]string{}
	for _, srv := range s.order {
		owner[srv.port], door[srv.door.Addr().Port] = srv.Name, srv.Name
		if srv.busDoor != nil {
			owner[srv.bus], door[srv.busDoor.Addr().Port] = busOf(srv.Name), busOf(srv.Name)
		}
		sources[srv.source.String()] = srv.Name
	}
	listening, through := map[string]bool{}, map[string]bool{}
	for _, x := range sockets(t) {
		to, direct := owner[x.remote.Port]
		from, server := sources[x.local.IP.String()]
		switch {
		case x.listening && owner[x.local.Port] != "":
			listening[owner[x.local.Port]] = true
			if x.local.IP.String() != "127.0.0.1" {
				t.Errorf("%s listens on %s", owner[x.local.Port], x.local)
			}
		case server && direct && from != to:
			t.Errorf("%s is connected to %s past its door", from, to)
		case server && door[x.remote.Port] != "":
			through[from] = true
		}
	}
	for _, name := range owner {
		if !listening[name] {
			t.Errorf("%s does not listen: the test sees nothing", name)
		}
	}
	for _, srv := range s.order {
		if (srv.rank > 0 || srv.sentinel || s.opts.Cluster) && !through[srv.Name] {
			t.Errorf("%s has no connection through a door", srv.Name)
		}
	}
}
