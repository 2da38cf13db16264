package pages

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/story"
	"github.com/holdfast-go/holdfast/internal/traffic"
)

type traceLine struct {
	at    int64
	cells []string
}

// WriteTrace writes every message up to the moment of the stop, one line each,
// and the faults between them.
func (r *Replay) WriteTrace(out io.Writer) {
	var lines []traceLine
	told := story.Narrate(&history.History{Events: r.Faults})
	for i, e := range r.Faults {
		if !r.after(time.Duration(e.Time)) {
			lines = append(lines, traceLine{e.Time, []string{seconds(e.Time), "", "", fmt.Sprintf("fault %d", e.Fault.ID), "", told[i]}})
		}
	}
	for _, m := range r.Messages {
		if at := m.Sent.Sub(r.Start); !r.after(at) {
			lines = append(lines, traceLine{int64(at), r.cells(m)})
		}
	}
	slices.SortStableFunc(lines, func(a, b traceLine) int { return cmp.Compare(a.at, b.at) })
	var widths [6]int
	for _, l := range lines {
		for i, c := range l.cells[:5] {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	fmt.Fprintf(out, "# %s with %s, seed %d: sent, from and to, connection, kind, under way for, what\n", r.Scenario, r.Lock, r.Seed)
	for _, l := range lines {
		text := fmt.Sprintf("%*s", widths[0], l.cells[0])
		for i := 1; i < len(l.cells); i++ {
			text += fmt.Sprintf("  %-*s", widths[i], l.cells[i])
		}
		fmt.Fprintln(out, strings.TrimRight(text, " "))
	}
}

// after reports whether a time of the run is after the moment of the stop.
func (r *Replay) after(at time.Duration) bool { return r.State != nil && at > r.State.At }

func (r *Replay) cells(m traffic.Message) []string {
	what := m.Text
	if notes := r.notes(m); notes != "" {
		what = strings.TrimSpace(what + "  [" + notes + "]")
	}
	took := ""
	switch {
	case m.Fate == traffic.Arrived && !r.after(m.Ended.Sub(r.Start)):
		took = m.Ended.Sub(m.Sent).String()
	case isMessage(m):
		took = "-"
	}
	return []string{seconds(int64(m.Sent.Sub(r.Start))), m.From + " -> " + m.To, fmt.Sprintf("#%d", m.Conn), m.Kind, took, what}
}

// isMessage reports whether m is a message, and not an event of a connection.
func isMessage(m traffic.Message) bool {
	return !slices.Contains([]string{traffic.Opened, traffic.Refused, traffic.Closed, traffic.Broken}, m.Kind)
}

// notes describe the unusual facts about a message, with the fault that caused
// them.
func (r *Replay) notes(m traffic.Message) string {
	var all []string
	if m.Paused {
		all = append(all, m.From+" is paused")
	}
	if m.Kind == traffic.Broken {
		all = append(all, r.by(m.Sent))
	}
	fate := m.Fate
	if r.after(m.Ended.Sub(r.Start)) {
		fate = ""
	}
	for i, h := range m.Toxics {
		verb := hindered(h.Toxic)
		if fate == traffic.Dropped && i == len(m.Toxics)-1 {
			verb = "dropped"
		}
		all = append(all, strings.TrimSpace(verb+" "+r.by(h.Since)))
	}
	switch {
	case fate == traffic.Lost:
		all = append(all, strings.TrimSpace("lost at "+seconds(int64(m.Ended.Sub(r.Start)))+": the connection broke "+r.by(m.Ended)))
	case fate == traffic.Unread:
		all = append(all, "lost: "+m.To+" closed the connection at "+seconds(int64(m.Ended.Sub(r.Start))))
	case fate == "" && isMessage(m):
		all = append(all, "on its way")
	}
	return strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == "" }), "; ")
}

// hindered is the effect of a toxic on a message, in a word.
func hindered(toxic string) string {
	words := map[string]string{
		"Hold": "held", "Delay": "delayed",
		"SlowSubscribe": "maybe delayed", // if it subscribes, or comes behind one that does
	}
	return cmp.Or(words[toxic], toxic)
}

// by names the faults that began or ended at an instant, "" for none. Virtual
// time is exact, so they caused everything that happened at that instant.
func (r *Replay) by(t time.Time) string {
	var names []string
	for _, e := range r.Faults {
		if e.Fault.Phase != history.PhaseFailed && e.Time == int64(t.Sub(r.Start)) {
			names = append(names, fmt.Sprintf("%s (fault %d)", e.Fault.Name, e.Fault.ID))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "by " + strings.Join(slices.Compact(names), " or ")
}
