package party

import "testing"

// A name that is written and read back is the same party: a fault on a replica would
// otherwise strike, or excuse, another group.
func TestNamesReadBack(t *testing.T) {
	for _, n := range []int{1, 9, 64} {
		c, s := Client(n), Node(n)
		r := Replica(s, 12)
		if !IsClient(c) || IsServer(c) || IsReplica(c) || Number(c) != n || First(c) != c {
			t.Errorf("the client %q reads as another party", c)
		}
		if !IsServer(s) || IsClient(s) || IsReplica(s) || Number(s) != n || First(s) != s {
			t.Errorf("the server %q reads as another party", s)
		}
		if !IsServer(r) || !IsReplica(r) || First(r) != s || Number(r) != n {
			t.Errorf("the replica %q reads as another party", r)
		}
	}
	for _, name := range []string{"primary", "", "sentinel-1", "client"} {
		if IsClient(name) || IsServer(name) || Number(name) != 0 {
			t.Errorf("%q reads as a client or a server", name)
		}
	}
}
