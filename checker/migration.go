package checker

import (
	"cmp"

	"github.com/holdfast-go/holdfast/internal/party"
)

// migration is the cause of a change by which a key moved between two servers, as it does
// with its slot in a cluster. Such servers count as one group, in which the hold goes on.
const migration = "migration"

// joinGroups joins the groups of servers among which a key has moved.
func (x *index) joinGroups() {
	x.joined = map[string]string{}
	at := map[string]string{} // key -> where it was
	for _, e := range x.logged {
		s := e.Server
		if s.Cause != migration {
			continue
		}
		group := x.groupOf(s.Node)
		into := cmp.Or(at[s.Key], group)
		at[s.Key] = into
		for server, g := range x.joined {
			if g == group {
				x.joined[server] = into
			}
		}
		x.joined[group] = into
	}
}

// groupOf is the group of a server.
func (x *index) groupOf(server string) string {
	first := party.First(server)
	return cmp.Or(x.joined[first], first)
}

// joinedNodes adds to servers those with which their groups have been joined.
func (x *index) joinedNodes(servers []string) []string {
	all := servers
	for _, n := range servers {
		if g := x.groupOf(n); g != party.First(n) {
			all = append(all, g)
		}
	}
	return all
}

// goesOn makes of one half of a move that the holder stays. The server that the key left
// has it no longer.
func (c *change) goesOn() {
	s := *c.ServerEvent
	if c.leaves = c.holder == ""; c.leaves {
		c.holder, s.Count, s.TTL = c.was, s.WasCount, s.WasTTL
	} else {
		c.was, s.WasCount, s.WasTTL = c.holder, s.Count, s.TTL
	}
	c.ServerEvent = &s
}
