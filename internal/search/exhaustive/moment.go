package exhaustive

import (
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/play"
	"github.com/holdfast-go/holdfast/internal/traffic"
)

// moment is a moment of a run at which a fault can be placed.
type moment struct {
	// Anchor selects it alone, also in a run that is the same up to there.
	Anchor faults.Anchor `json:"anchor"`
	At     time.Duration `json:"at"`             // since the start of the run
	Busy   []string      `json:"busy,omitempty"` // clients that are in an operation, sorted
	// Same says that the last fault of the run struck at this very moment.
	Same bool `json:"same,omitempty"`
	// Used says how links were used since the moment before.
	Used []use `json:"used,omitempty"`
}

const clientPrefix = "client-"

// phase is the moment without names and numbers: "executed release".
func phase(a *faults.Anchor) string { return strings.TrimSpace(a.Moment + " " + a.Op) }

// momentsOf are the moments of clients among the announced ones.
func momentsOf(announced []play.Moment) []moment {
	var all []moment
	var before []faults.Moment
	used := map[faults.Link]traffic.Use{}
	busy := map[string]bool{}
	for _, m := range announced {
		if m.Name == faults.Invoked {
			busy[m.Client] = true
		}
		for l, how := range m.Used {
			used[l] |= how
		}
		if strings.HasPrefix(m.Client, clientPrefix) {
			now := moment{Anchor: m.Moment.Anchor(before), At: m.At, Used: usesOf(used)}
			clear(used)
			for c, is := range busy {
				if is {
					now.Busy = append(now.Busy, c)
				}
			}
			slices.Sort(now.Busy)
			all = append(all, now)
		}
		if m.Name == faults.Granted || m.Name == faults.Refused || m.Name == faults.Released {
			busy[m.Client] = false
		}
		before = append(before, m.Moment)
	}
	return all
}

// from are the moments after the strike of a fault; none if it never struck.
func from(all []moment, struck *faults.Anchor) []moment {
	i := slices.IndexFunc(all, func(m moment) bool { return m.Anchor == *struck })
	if i < 0 {
		return nil
	}
	rest := slices.Clone(all[i:])
	rest[0].Same = true
	return rest
}
