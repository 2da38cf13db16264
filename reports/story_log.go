package reports

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/history"
	"github.com/holdfast-go/holdfast/internal/english"
)

// maxLine is how much of a line of a server's log is told.
const maxLine = 240

// says tells a line of a server's own log. What it says is the server's word:
// no verdict rests on it.
func (t *teller) says(e *history.Event) {
	server := name(e.Log.Server)
	t.out = append(t.out, sentence{
		at: e.Time, weight: lineWeight(e.Log.Text), said: short(clean(e.Log.Text), maxLine), actor: server,
		text: fmt.Sprintf("%s says: %s", server, short(clean(e.Log.Text), maxLine)),
	})
}

// inChorus puts what several servers say one right after the other, in the
// same words, into one sentence.
func inChorus(in []sentence) []sentence {
	var out []sentence
	for i := 0; i < len(in); {
		s := in[i]
		actors := []string{s.actor}
		for i++; i < len(in) && s.said != "" && in[i].said == s.said; i++ {
			if !slices.Contains(actors, in[i].actor) {
				actors = append(actors, in[i].actor)
			}
		}
		if len(actors) > 1 {
			s.text = fmt.Sprintf("%s say: %s", english.And(actors), s.said)
		}
		out = append(out, s)
	}
	return out
}

// How lines about a change of the primary begin, or what they contain, in the
// words of Redis and Valkey, their Sentinels and their clusters.
var (
	decisiveLines = []string{"+odown", "+promoted-slave", "+switch-master", "MASTER MODE enabled", "Failover election won"}
	tellingLines  = []string{
		"+sdown", "-odown", "+try-failover", "+elected-leader", "+failover-end", "-failover-abort", "+convert-to-slave",
		"Failover auth granted", "configEpoch", "Promote", "Promoting", "as failing", "REPLICAOF would like",
	}
)

// lineWeight is how much a line of a server's log matters. What is not about a
// change of the primary is small talk, which only a short story has room for.
func lineWeight(text string) weight {
	for _, part := range decisiveLines {
		if strings.Contains(text, part) {
			return decisive
		}
	}
	for _, part := range tellingLines {
		if strings.Contains(text, part) {
			return telling
		}
	}
	return smallTalk
}
