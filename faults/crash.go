package faults

import (
	"strings"

	"github.com/holdfast-go/holdfast/checker/history"
)

// crash ends client processes as SIGKILL or a power cut does. They neither
// release nor send anything.
var _ = register(Kind{
	Name:    "crash",
	Summary: "a client process dies at once, without releasing anything",
	Target:  "client",
	Plural:  "crashes",
	Traits:  func(Spec) history.Traits { return history.Traits{Instant: true, EndsProcess: true} },
	Strike: func(w World, s Spec, _ Topology, _ uint64) (string, func() error, error) {
		return strings.Join(s.Target, ", ") + " crashed", nil, once(resolve(s.Target, w), w.Crash)
	},
})
