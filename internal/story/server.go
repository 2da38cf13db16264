package story

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/english"
)

// server describes a change of the lock on a server, if the clients' own
// operations do not imply it.
func (t *teller) server(e *history.Event) {
	s := e.Server
	if t.held[s.Node] == nil {
		t.held[s.Node] = map[string]string{}
	}
	t.held[s.Node][s.Key] = s.Holder
	if s.WasHolder == s.Holder || s.WasHolder == "" || s.Role == "replica" {
		if t.all {
			t.stores(e)
		}
		return
	}
	was, node := t.f.Holder(s.WasHolder), english.Name(s.Node)
	believes := t.believes(e, s.WasHolder)
	still := ""
	if believes {
		still = ", but " + was + " still believes that it holds the lock"
	}
	switch s.Cause {
	case "expiry":
		w := telling
		if believes {
			w = decisive
		}
		t.say(e, w, "%s: the lease of %s is over%s.", node, was, still).Bad = believes
	case "command":
		if by, holder := s.By, t.f.ClientOf[s.WasHolder]; by != "" && holder != "" && by != holder {
			what := "deletes"
			if s.Holder != "" {
				what = "overwrites"
			}
			t.say(e, decisive, "%s: %s of %s %s the lock of %s%s.", node, quoteCommand(s.Command), english.Name(by), what, was, still).Bad = true
		} else if s.Holder != "" && !t.takes(e, s.Holder) {
			t.say(e, telling, "%s hands the lock to %s%s, and %s does not come for it.", node, t.f.Holder(s.Holder), forAsLong(s.TTL), t.f.Holder(s.Holder))
		} else if t.all {
			t.stores(e)
		}
	case "fault", "restart":
		what := "no longer has the lock of " + was
		if s.Holder != "" {
			what = "has " + t.f.Holder(s.Holder) + " as the holder in place of " + was
		}
		t.say(e, decisive, "%s %s%s.", node, what, still).Bad = believes
	case "replication":
		// A primary that changes by replication has become a replica of another
		// one, and dropped its own data.
		t.say(e, decisive, "%s drops the lock of %s and takes what its new primary has%s.", node, was, still)
	}
}

// takes reports whether an owner that a server has made the holder learns of it
// while the server still has the hold.
func (t *teller) takes(e *history.Event, owner string) bool {
	return slices.ContainsFunc(t.f.Beliefs, func(c checker.Belief) bool {
		return c.Owner == owner && c.To > e.Time && (e.Server.TTL <= 0 || c.From <= e.Time+e.Server.TTL)
	})
}

// forAsLong states a time to live.
func forAsLong(ttl int64) string {
	if ttl <= 0 {
		return ""
	}
	return " for " + length(ttl)
}

// stores describes the normal content of a server.
func (t *teller) stores(e *history.Event) {
	s, held := e.Server, "nobody holds "+english.Name(e.Server.Key)
	if s.Holder != "" {
		held = fmt.Sprintf("%s holds %s, count %d", t.f.Holder(s.Holder), english.Name(s.Key), s.Count)
	}
	if s.Holds != "" {
		held = english.Name(s.Key) + " is a " + english.Short(english.Clean(s.Holds), MaxLine)
	}
	if s.Holder != "" && s.TTL > 0 {
		held += ", for " + length(s.TTL)
	}
	why := english.Clean(s.Cause)
	if s.Cause == "command" {
		why = strings.TrimPrefix(quoteCommand(s.Command), "the ") + " of " + english.Name(s.By)
	}
	t.say(e, smallTalk, "%s (%s): %s (%s).", english.Name(s.Node), english.Clean(s.Role), held, why)
}

// believes reports whether an owner believes that it holds the lock at that
// moment, and is not just releasing it.
func (t *teller) believes(e *history.Event, owner string) bool {
	return slices.ContainsFunc(t.f.Beliefs, func(c checker.Belief) bool {
		return c.Owner == owner && c.From <= e.Time && c.To > e.Time
	})
}

func quoteCommand(c string) string {
	if c = english.Clean(c); c == "" {
		return "a command"
	}
	return "the " + c
}

// notReplicated names, at a failover, the holders that the new primary lacks.
func (t *teller) notReplicated(e *history.Event) {
	promoted := e.Fault.Promoted
	if promoted == "" || len(e.Fault.Targets) == 0 {
		return
	}
	old := e.Fault.Targets[0]
	for _, k := range slices.Sorted(maps.Keys(t.held[old])) {
		holder := t.held[old][k]
		if holder == "" || t.held[promoted][k] == holder {
			continue
		}
		t.say(e, decisive, "The hold of %s had not reached %s, which takes over without it.", t.f.Holder(holder), english.Name(promoted)).Bad = true
	}
}

// MaxLine is the most characters of a line of a server's log.
const MaxLine = 240

// says quotes a line of a server's own log. It is the server's statement; no
// verdict rests on it.
func (t *teller) says(e *history.Event) {
	server := english.Name(e.Log.Server)
	t.out = append(t.out, Sentence{
		At: e.Time, line: t.f.line(e), weight: lineWeight(e.Log.Text), Said: english.Short(english.Clean(e.Log.Text), MaxLine), actor: server,
		Text: fmt.Sprintf("%s says: %s", server, english.Short(english.Clean(e.Log.Text), MaxLine)),
	})
}

// inChorus merges equal lines that several servers log one right after the other
// into one sentence.
func inChorus(in []Sentence) []Sentence {
	var out []Sentence
	for i := 0; i < len(in); {
		s := in[i]
		actors := []string{s.actor}
		for i++; i < len(in) && s.Said != "" && in[i].Said == s.Said; i++ {
			if !slices.Contains(actors, in[i].actor) {
				actors = append(actors, in[i].actor)
			}
		}
		if len(actors) > 1 {
			s.Text = fmt.Sprintf("%s say: %s", english.And(actors), s.Said)
		}
		out = append(out, s)
	}
	return out
}

// These are beginnings or parts of lines about a change of the primary, as Redis
// and Valkey, their Sentinels and their clusters write them.
var (
	decisiveLines = []string{"+odown", "+promoted-slave", "+switch-master", "MASTER MODE enabled", "Failover election won"}
	tellingLines  = []string{
		"+sdown", "-odown", "+try-failover", "+elected-leader", "+failover-end", "-failover-abort", "+convert-to-slave",
		"Failover auth granted", "configEpoch", "Promote", "Promoting", "as failing", "REPLICAOF would like",
	}
)

// lineWeight is the importance of a line of a server's log. Only a short story
// has room for lines that do not concern a change of the primary.
func lineWeight(text string) weight {
	in := func(part string) bool { return strings.Contains(text, part) }
	switch {
	case slices.ContainsFunc(decisiveLines, in):
		return decisive
	case slices.ContainsFunc(tellingLines, in):
		return telling
	}
	return smallTalk
}

// Tells reports whether a line of a server's log is about a change of the primary.
func Tells(line string) bool { return lineWeight(line) >= telling }
