package checker

import (
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/checker/history"
)

// An observer gets the truth of some time between question and answer, on a server that
// answers.
func TestObservation(t *testing.T) {
	observed := leased(func(h *history.Header) { h.Claims.Observes = true })
	const holds = `
		0    c1 acquire lease=1000
		10   server n1 SET by=c1 holder=c1 ttl=1000
		20   c1 ok count=1
		ASKED
		400  c1 release
		410  server n1 DEL by=c1
		420  c1 ok`
	asked := func(question string) string { return strings.Replace(holds, "ASKED", question, 1) }
	unlogged := func(question string) string {
		var kept []string
		for _, line := range strings.Split(asked(question), "\n") {
			if !strings.Contains(line, " server ") {
				kept = append(kept, line)
			}
		}
		return strings.Join(kept, "\n")
	}
	run(t, []propertyTest{
		{"the holder", observed, asked("100 c3 observe\n110 c3 ok holder=c1"), Observation, OutcomeOK, "", "", ""},
		{"nobody, who had it at the question", observed, strings.Replace(asked("30 c3 ok"), "0    c1 acquire lease=1000", "0    c1 acquire lease=1000\n5 c3 observe", 1), Observation, OutcomeOK, "", "", ""},
		{"nobody, while somebody holds it", observed, asked("100 c3 observe\n110 c3 ok"), Observation, Violated, "", "nobody holds the lock; client-1/1 had had it since 0.010 s", "server log"},
		{"nobody, after a failover", observed, asked("50 fault start 1 failover n1\n100 c3 observe\n110 c3 ok"), Observation, OutcomeOK, "", "", ""},
		{"another", observed, asked("100 c3 observe\n110 c3 ok holder=c2"), Observation, Violated, "", "no owner has that name", "server log"},
		{"one who has released it", observed, holds[:strings.Index(holds, "ASKED")] + "400 c1 release\n410 server n1 DEL by=c1\n420 c1 ok\n500 c3 observe\n510 c3 ok holder=c1",
			Observation, Violated, "", "client-1/1 holds the lock; it had not had it since 0.410 s", "server log"},
		{"one whose release is under way", observed, strings.Replace(asked(""), "410  server", "405 c3 observe\n410  server", 1) + "\n430 c3 ok holder=c1", Observation, OutcomeOK, "", "", ""},
		{"no answer", observed, asked("100 c3 observe\n110 c3 fail err=canceled"), Observation, Unknown, "", "no question", ""},
		{"the holder, without a server log", observed, unlogged("100 c3 observe\n110 c3 ok holder=c1"), Observation, OutcomeOK, "", "", ""},
		{"nobody, without a server log", observed, unlogged("100 c3 observe\n110 c3 ok"), Observation, Violated, "", "client-1/1 had had it since 0.020 s", ""},
		{"another, without a server log", observed, unlogged("100 c3 observe\n110 c3 ok holder=c2"), Observation, Violated, "", "no owner has that name", ""},
		{"one who has released it, without a server log", observed, unlogged("") + "\n500 c3 observe\n510 c3 ok holder=c1", Observation, Violated, "", "it had not had it since 0.420 s", ""},
	})
}
