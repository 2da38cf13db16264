package pages

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/play"
	"github.com/holdfast-go/holdfast/internal/story"
	"github.com/holdfast-go/holdfast/internal/traffic"
)

const lastEvents = 8

func (r *Replay) WriteState(out io.Writer) {
	s := r.State
	fmt.Fprintf(out, "%s with %s, seed %d, stopped %s: virtual time %s\n", r.Scenario, r.Lock, r.Seed, r.words, seconds(int64(s.At)))
	if r.Same {
		fmt.Fprintf(out, "lines 2 to %d are those of the stored history, and so is the rest, %.12s\n", len(s.Events)+1, r.hash)
	} else {
		fmt.Fprintf(out, "not the stored history: %s\n", r.Difference)
	}
	fmt.Fprint(out, "\nhistory\n")
	h := r.stored
	if !r.Same {
		h = &history.History{Header: r.stored.Header, Events: s.Events}
	}
	told := story.Narrate(h)
	for i := max(0, len(s.Events)-lastEvents); i < len(s.Events); i++ {
		op := ""
		if s.Events[i].Op != 0 {
			op = fmt.Sprintf("op %d", s.Events[i].Op)
		}
		fmt.Fprintf(out, "  %4d  %s  %-6s  %s\n", i+2, seconds(s.Events[i].Time), op, told[i])
	}
	fmt.Fprint(out, "\nservers\n")
	for _, n := range s.World.Nodes {
		r.writeNode(out, n)
	}
	fmt.Fprint(out, "\nclients\n")
	for _, c := range s.Clients {
		r.writeClient(out, c, func(e history.Event) string {
			i := slices.IndexFunc(h.Events, func(o history.Event) bool { return o.Op == e.Op })
			return told[i]
		})
	}
	r.writeLinks(out)
	if len(s.Goroutines) > 0 {
		fmt.Fprint(out, "\ngoroutines in the lock\n")
	}
	for g, n := range counted(s.Goroutines) {
		fmt.Fprintf(out, "  %d x %s\n", n, g)
	}
}

func (r *Replay) writeNode(out io.Writer, n traffic.NodeState) {
	about := []string{n.Role, "up"}
	if !n.Up {
		about[1] = "DOWN"
	}
	if n.Serves && n.Role != "primary" || !n.Serves && n.Role == "primary" {
		about = append(about, "clients are "+map[bool]string{true: "", false: "not "}[n.Serves]+"sent here")
	}
	about = append(about, fmt.Sprintf("clock %+.6fs", n.ClockAhead.Seconds()))
	if n.ClockRate != 1 {
		about = append(about, fmt.Sprintf("at %g times true speed", n.ClockRate))
	}
	about = append(about, fmt.Sprintf("changes: %d", n.Changes))
	fmt.Fprintf(out, "  %s: %s\n", n.Name, strings.Join(about, ", "))
	for _, k := range n.Keys {
		fmt.Fprintf(out, "    %s = %s, %s%s\n", k.Key, traffic.ValueText(k.Value), left(k.TTL), r.heldBy(n.Name, k.Key))
	}
	if n.Up && len(n.Keys) == 0 {
		fmt.Fprint(out, "    no keys\n")
	}
	for _, c := range n.Channels {
		fmt.Fprintf(out, "    channel %s: subscribers: %d\n", c.Name, c.Subscribers)
	}
	var peers []string
	for p, count := range counted(n.Connections) {
		peers = append(peers, fmt.Sprintf("%s (%d)", p, count))
	}
	if len(peers) > 0 {
		fmt.Fprintf(out, "    connected: %s\n", strings.Join(peers, ", "))
	}
	for _, x := range n.Replicas {
		fmt.Fprintf(out, "    %s\n", r.behind(n, x))
	}
}

// behind lists the changes that a replica has not received yet.
func (r *Replay) behind(n traffic.NodeState, x traffic.ReplicaState) string {
	text := fmt.Sprintf("%s has confirmed up to %d", x.Name, x.Acked)
	if x.Acked < 0 {
		text = x.Name + " has confirmed nothing"
	}
	var missing []string
	for _, m := range r.State.World.InFlight {
		if m.Kind == traffic.Effect && m.From == n.Name && m.To == x.Name {
			missing = append(missing, m.Text)
		}
	}
	if len(missing) == 0 {
		return text
	}
	return text + "; on its way to it: " + strings.Join(missing, "; ")
}

func (r *Replay) heldBy(node, key string) string {
	for _, h := range r.State.Holders {
		if h.Node == node && h.Key == key {
			return fmt.Sprintf(", held by %s, count %d", h.Owner, h.Count)
		}
	}
	return ""
}

func left(ttl time.Duration) string {
	switch {
	case ttl == -1:
		return "for ever"
	case ttl <= 0:
		return "run out"
	}
	return "for " + ttl.String()
}

func (r *Replay) writeClient(out io.Writer, c play.ClientState, told func(history.Event) string) {
	state := "runs"
	switch {
	case c.Crashed:
		state = "has CRASHED"
	case c.Paused:
		state = "is PAUSED"
	}
	fmt.Fprintf(out, "  %s %s\n", c.Name, state)
	for _, b := range c.Believes {
		lease := ""
		if b.Lease > 0 {
			lease = fmt.Sprintf(", lease until %s", seconds(b.From+b.Lease))
			if b.Renewed {
				lease += " or as renewed"
			}
		}
		fmt.Fprintf(out, "    %s believes to hold %s since %s (op %d)%s\n", b.Owner, b.Lock, seconds(b.From), b.AcquireOp, lease)
	}
	for _, e := range c.Doing {
		since := int64(r.State.At) - e.Time
		fmt.Fprintf(out, "    op %d since %s, for %s: %s\n", e.Op, seconds(e.Time), time.Duration(since), told(e))
	}
}

// writeLinks writes the links with a message or a toxic on them.
func (r *Replay) writeLinks(out io.Writer) {
	head := "\nlinks\n"
	for _, l := range r.State.World.Links {
		for _, way := range []struct {
			from, to string
			toxics   []traffic.Hindrance
		}{{l.From, l.To, l.Upstream}, {l.To, l.From, l.Downstream}} {
			for _, h := range way.toxics {
				fault := cmp.Or(r.by(h.Since), "by a fault")
				fmt.Fprintf(out, "%s  %s -> %s: %s %s, since %s\n", head, way.from, way.to, doing(h.Toxic), fault, seconds(int64(h.Since.Sub(r.Start))))
				head = ""
			}
		}
	}
	head = "\non its way\n"
	for _, m := range r.State.World.InFlight {
		fmt.Fprintf(out, "%s  %s -> %s #%d: %s %s, sent at %s\n", head, m.From, m.To, m.Conn, m.Kind, m.Text, seconds(int64(m.Sent.Sub(r.Start))))
		head = ""
	}
}

func doing(toxic string) string {
	words := map[string]string{
		"Hold": "everything is held", "Delay": "everything is delayed", "Blackhole": "everything is lost",
		"DropMessages": "pub/sub messages are lost", "SlowSubscribe": "subscriptions are delayed",
	}[toxic]
	return cmp.Or(words, "through "+toxic)
}

// counted yields the different words of a sorted list, with the count of each.
func counted(sorted []string) func(yield func(string, int) bool) {
	return func(yield func(string, int) bool) {
		for rest := sorted; len(rest) > 0; {
			n := slices.IndexFunc(rest, func(s string) bool { return s != rest[0] })
			if n < 0 {
				n = len(rest)
			}
			if !yield(rest[0], n) {
				return
			}
			rest = rest[n:]
		}
	}
}
