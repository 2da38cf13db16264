package exhaustive

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/party"
	"github.com/holdfast-go/holdfast/internal/traffic"
)

// idleFor is the time by which a fault may begin earlier because its links are idle. It
// ends at its time, so it lasts longer by that much. This is far below the shortest class
// of durations, so both lengths are in one class.
const idleFor = 10 * time.Millisecond

type use struct {
	Link faults.Link `json:"link"`
	How  traffic.Use `json:"how"`
}

// usesOf lists uses, sorted by link.
func usesOf(used map[faults.Link]traffic.Use) []use {
	var all []use
	for l, how := range used {
		all = append(all, use{l, how})
	}
	slices.SortFunc(all, func(a, b use) int {
		return cmp.Or(strings.Compare(a.Link.From, b.Link.From), strings.Compare(a.Link.To, b.Link.To))
	})
	return all
}

// touches are the uses of its links by which a fault makes a difference. There are none
// for a fault that strikes anything else.
func touches(k faults.Kind, s faults.Spec) traffic.Use {
	if !k.LinksOnly {
		return 0
	}
	if k.NeedsRequests {
		return traffic.Accepted | traffic.Broke
	}
	touched := traffic.Broke
	t := k.Traits(s)
	if t.HoldsRequests || t.HoldsSubscriptions || t.HoldsReplication {
		touched |= traffic.SentUp
	}
	if t.HoldsReplies || t.LosesReplies || t.LosesNotices || t.HoldsReplication {
		touched |= traffic.SentDown
	}
	if t.Cuts || t.LosesReplies || t.Refuses {
		touched |= traffic.Dialled
	}
	return touched
}

// since is the earliest moment at which a variant can begin, and end as if it had begun
// at moment m, with the same run. In between, its links are idle.
func (b *built) since(m, v int) int {
	what := &b.in.able[v]
	if what.touches == 0 {
		return m
	}
	first := m
	for first > 0 && !what.meets(b.seen.Moments[first].Used) {
		first--
	}
	for i := first + 1; i <= m; i++ {
		if b.seen.Moments[i].At-b.seen.Moments[first].At > idleFor {
			first = i
		}
	}
	return first
}

// meets reports whether links were used in a way by which the fault makes a difference.
// The links of a server are those of its replication.
func (v *variant) meets(used []use) bool {
	mine := v.Spec.Target[0]
	client := party.IsClient(mine)
	return slices.ContainsFunc(used, func(u use) bool {
		switch {
		case u.How&v.touches == 0:
			return false
		case client:
			return u.Link.From == mine && (len(v.Spec.Peer) == 0 || slices.Contains(v.Spec.Peer, u.Link.To))
		}
		return party.First(u.Link.From) == party.First(mine) && party.First(u.Link.To) == party.First(mine)
	})
}

// later is a placement whose last fault begins later by that much, and ends when it
// would have ended.
func (p Placement) later(by time.Duration) Placement {
	last := len(p.Faults) - 1
	p.Faults = slices.Clone(p.Faults)
	if p.Faults[last].For > 0 {
		p.Faults[last].For -= faults.Duration(by)
	}
	return p
}
