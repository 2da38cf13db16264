package play

import (
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/party"
	"github.com/holdfast-go/holdfast/internal/traffic"
	"github.com/holdfast-go/holdfast/sim"
)

// State is a simulated run at one moment.
type State struct {
	At      time.Duration   `json:"at"`     // since the start of the run
	Events  []history.Event `json:"events"` // recorded until then
	World   traffic.State   `json:"world"`
	Holders []Holder        `json:"holders,omitempty"` // whose the locks are that servers have
	Clients []ClientState   `json:"clients"`
	// Goroutines are those that are in the lock under test: what each waits
	// for, and its calls within the lock, innermost first.
	Goroutines []string `json:"goroutines,omitempty"`
}

// Holder is the holder of the lock on one server.
type Holder struct {
	Node  string `json:"node"`
	Key   string `json:"key"`
	Owner string `json:"owner"`
	Count int    `json:"count"`
}

type ClientState struct {
	Name    string `json:"name"`
	Paused  bool   `json:"paused,omitempty"`
	Crashed bool   `json:"crashed,omitempty"`
	// Doing are its operations that have begun and not returned.
	Doing []history.Event `json:"doing,omitempty"`
	// Believes are the holds that its owners believe to have.
	Believes []checker.Belief `json:"believes,omitempty"`
}

// state returns the state of the run. Nothing may run at this moment.
func (r *simRun) state(w *sim.World, header history.Header) State {
	s := State{At: time.Since(r.Rec.Start), World: w.State(), Events: r.Rec.SoFar(), Goroutines: r.inLock()}
	for _, n := range s.World.Nodes {
		s.Holders = append(s.Holders, r.Owners.holdersOn(n)...)
	}
	events := append(slices.Clone(s.Events), history.Event{Time: int64(s.At), Kind: history.End, End: &history.EndEvent{CutOff: true}})
	claims := checker.Beliefs(&history.History{Header: header, Events: events})
	for i := 1; i <= r.Top.Clients; i++ {
		p := w.Process(party.Client(i))
		c := ClientState{Name: p.Name(), Paused: p.Paused(), Crashed: p.Crashed(), Doing: underWay(s.Events, p.Name())}
		for _, x := range claims {
			if x.Client == c.Name && x.EndedBy == "end" {
				c.Believes = append(c.Believes, x)
			}
		}
		s.Clients = append(s.Clients, c)
	}
	return s
}

func underWay(events []history.Event, client string) []history.Event {
	var open []history.Event
	for _, e := range events {
		if e.Client != client || e.Op == 0 {
			continue
		}
		if e.Kind == history.Invoke {
			open = append(open, e)
		} else {
			open = slices.DeleteFunc(open, func(x history.Event) bool { return x.Op == e.Op })
		}
	}
	return open
}

// lockPackages is the prefix of all functions of built-in locks.
const lockPackages = "github.com/holdfast-go/holdfast/lock"

// inLock lists the goroutines of this bubble in the code of the lock under test.
func (r *simRun) inLock() []string {
	var all []string
	own, others := Goroutines()
	for _, stack := range append(others, own) {
		if s := callsIn(stack, lockPackages); s != "" {
			all = append(all, s)
		}
	}
	slices.Sort(all)
	return all
}

// callsIn is the wait reason of a goroutine and its calls within a package and
// those below it, innermost first; "" if it has none.
func callsIn(plain, pkg string) string {
	lines := strings.Split(plain, "\n")
	var calls []string
	for i := 1; i+1 < len(lines); i += 2 {
		name, ours := strings.CutPrefix(lines[i], pkg)
		if !ours || name == "" || !strings.ContainsRune("./", rune(name[0])) {
			continue
		}
		calls = append(calls, strings.TrimLeft(name, "./")+" "+strings.TrimSpace(lines[i+1]))
	}
	if len(calls) == 0 {
		return ""
	}
	waits := strings.TrimSuffix(strings.Trim(strings.TrimPrefix(lines[0], "goroutine "), "[]"), " (durable)")
	return waits + ": " + strings.Join(calls, " < ")
}

func (o *owners) holdersOn(n traffic.NodeState) (all []Holder) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.holds != nil {
		for _, name := range slices.Sorted(slices.Values(o.holds.names)) {
			for _, x := range o.holds.on[copyOn{n.Name, name}].all() {
				all = append(all, Holder{Node: n.Name, Key: o.holds.lock.Key(name), Owner: o.nameOf(name, x.Owner), Count: x.Count})
			}
		}
		return all
	}
	for _, k := range n.Keys {
		identity, count, _ := o.how.Of(k.Value)
		if lock, is := o.locks[k.Key]; is && identity != "" {
			all = append(all, Holder{Node: n.Name, Key: k.Key, Owner: o.nameOf(lock, identity), Count: count})
		}
	}
	return all
}
