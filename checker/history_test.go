package checker

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-go/holdfast/checker/history"
)

func encoded(t testing.TB, h *history.History) string {
	t.Helper()
	var b bytes.Buffer
	if err := h.Encode(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestRoundTrip(t *testing.T) {
	h := story(t, leased(func(h *history.Header) {
		h.Seed = 1<<64 - 1
		h.Faults = []history.PlannedFault{{ID: 1, Fault: "pause", Targets: []string{"client-1"}, When: "at <1 s>"}}
		h.Resource = &history.Resource{Initial: 3, Fenced: true}
	}), handover+"\n 800 fault start 1 pause c1\n 801 c1 lost\n 802 log sentinel-1 +sdown \"master\" <n1>\n 803 log node-1 MASTER MODE enabled\n 900 end keys=a,b subs=1 goroutine=x")
	text := encoded(t, h)
	got, err := history.Decode(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(h, got); diff != "" {
		t.Error(diff)
	}
	if got.Hash() != h.Hash() || len(h.Hash()) != 64 {
		t.Errorf("hashes %s and %s", h.Hash(), got.Hash())
	}
	if strings.Count(text, "\n") != len(h.Events)+1 {
		t.Error("not one event a line")
	}
}

func TestDecodeIsStrict(t *testing.T) {
	good := encoded(t, story(t, leased(nil), handover))
	lines := strings.SplitAfter(good, "\n")
	for _, tt := range []struct {
		name, text, want string
		line             int
	}{
		{"empty", "", "empty", 1},
		{"not JSON", "hello\n", "not a history", 1},
		{"another format", strings.Replace(good, "history/1", "history/2", 1), `this is "holdfast-history/2"; this version reads "holdfast-history/1"`, 1},
		{"unknown header field", strings.Replace(good, `"seed"`, `"sead"`, 1), `unknown field "sead"`, 1},
		{"unknown event field", strings.Replace(good, `"kind"`, `"kinds"`, 1), `unknown field "kinds"`, 2},
		{"cut off in a line", good[:len(good)-3], "cut off", len(lines) - 1},
		{"no end", strings.Join(lines[:len(lines)-2], ""), "its last event must be of kind", len(lines) - 1},
		{"two objects in a line", strings.Replace(good, "}\n{\"t\":0", "}\n{} {\"t\":0", 1), "after top-level value", 2},
		{"wrong type", strings.Replace(good, `"t":0`, `"t":"0"`, 1), `field "t" cannot be a string`, 2},
		{"blank line", good + "\n", "not a JSON object", len(lines)},
		{"a key twice", strings.Replace(good, `"t":0,`, `"t":0,"t":0,`, 1), `the key "t" comes twice`, 2},
		{"a key twice, further in", strings.Replace(good, `"args":{`, `"args":{"lease":1,"lease":2,`, 1), `the key "lease" comes twice`, 2},
		{"a key twice in the header", strings.Replace(good, `"seed"`, `"seed":2,"seed"`, 1), `the key "seed" comes twice`, 1},
		{"a key in another case", strings.Replace(good, `"kind"`, `"Kind"`, 1), `the key "Kind" is written "kind"`, 2},
		{"a key of the header in another case", strings.Replace(good, `"seed"`, `"SEED"`, 1), `the key "SEED" is written "seed"`, 1},
		{"null for an object", strings.Replace(good, `"args":{`, `"result":null,"args":{`, 1), "null is no value", 2},
		{"null for a text", strings.Replace(good, `"client":"client-1"`, `"client":null`, 1), "null is no value", 2},
		{"invalid UTF-8", strings.Replace(good, `"client-1"`, "\"client-\xff\"", 1), "invalid UTF-8", 2},
		{"invalid UTF-8 in the header", strings.Replace(good, `"version":"`, "\"version\":\"\xff", 1), "invalid UTF-8", 1},
		{"a text that is too much to repeat", strings.Replace(good, "history/1", strings.Repeat("x\u202e", 1_000), 1), `"...; this version reads "holdfast-history/1"`, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := history.Decode(strings.NewReader(tt.text))
			var invalid *history.InvalidError
			if !errors.As(err, &invalid) {
				t.Fatalf("got %v, want an InvalidError", err)
			}
			if invalid.Line != tt.line || !strings.Contains(invalid.Reason, tt.want) {
				t.Errorf("got line %d: %s; want line %d: %s", invalid.Line, invalid.Reason, tt.line, tt.want)
			}
			if len(err.Error()) > 1_500 {
				t.Errorf("the message has %d bytes", len(err.Error()))
			}
		})
	}
}

func TestValidate(t *testing.T) {
	base := func() *history.History { return story(t, leased(nil), handover) }
	for _, tt := range []struct {
		name string
		do   func(*history.History)
		line int
		want string
	}{
		{"time goes back", func(h *history.History) { h.Events[3].Time = 1 }, 5, "time goes back"},
		{"negative time", func(h *history.History) { h.Events[0].Time = -1 }, 2, "negative"},
		{"id used twice", func(h *history.History) { h.Events[3].Op = 1 }, 5, "invoked twice"},
		{"returns before it is invoked", func(h *history.History) { h.Events[2].Op = 99 }, 4, "before it is invoked"},
		{"returns twice", func(h *history.History) { h.Events[5].Op, h.Events[5].F = 1, history.Acquire }, 7, "returns twice"},
		{"returns as another function", func(h *history.History) { h.Events[2].F = history.Read }, 4, "invoked as acquire and returns as read"},
		{"returns to another owner", func(h *history.History) { h.Events[2].Owner = "client-1/2" }, 4, "returns to client-1/2"},
		{"returns on another lock", func(h *history.History) { h.Events[2].Lock = "x" }, 4, `returns on "x"`},
		{"two open operations", func(h *history.History) {
			h.Events[2] = history.Event{Time: h.Events[2].Time, Kind: history.Invoke, F: history.Read, Op: 50, Client: "client-1", Owner: "client-1/1"}
		}, 4, "is open"},
		{"owner of two clients", func(h *history.History) { h.Events[6].Owner = "client-1/1" }, 8, "belongs to client-1"},
		{"after its crash", func(h *history.History) {
			h.Events[1] = history.Event{Time: h.Events[1].Time, Kind: history.Note, F: history.Crashed, Client: "client-1"}
		}, 4, "crashed before"},
		{"end too early", func(h *history.History) {
			h.Events[1] = history.Event{Time: h.Events[1].Time, Kind: history.End, End: &history.EndEvent{}}
		}, 3, "follows"},
		{"no end", func(h *history.History) { h.Events = h.Events[:4] }, 5, "the last event is of kind"},
		{"no events", func(h *history.History) { h.Events = nil }, 2, "no events"},
		{"unknown kind", func(h *history.History) { h.Events[1].Kind = "what" }, 3, "not a kind"},
		{"no result", func(h *history.History) { h.Events[2].Result = nil }, 4, "no \"result\""},
		{"no server", func(h *history.History) { h.Events[1].Server = nil }, 3, "no \"server\""},
		{"negative count", func(h *history.History) { h.Events[2].Result.Count = -1 }, 4, "negative"},
		{"wrong role", func(h *history.History) { h.Events[1].Server.Role = "master" }, 3, "not a role"},
		{"wrong format", func(h *history.History) { h.Header.Format = "x" }, 1, "format"},
		{"impossible quorum", func(h *history.History) { h.Header.Claims.Quorum = 2 }, 1, "quorum"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := base()
			tt.do(h)
			_, err := Judge(h, Options{})
			var invalid *history.InvalidError
			if !errors.As(err, &invalid) {
				t.Fatalf("got %v, want an InvalidError", err)
			}
			if invalid.Line != tt.line || !strings.Contains(invalid.Reason, tt.want) {
				t.Errorf("got line %d: %s; want line %d: %s", invalid.Line, invalid.Reason, tt.line, tt.want)
			}
			if Beliefs(h) != nil {
				t.Error("an invalid history has claims")
			}
		})
	}
}

func TestVacuous(t *testing.T) {
	const refused = "0 c1 acquire\n1 c1 ok count=1\n2 c1 release\n3 c1 fail err=not-held"
	planned := leased(func(h *history.Header) { h.Faults = []history.PlannedFault{{ID: 1, Fault: "pause"}} })
	for _, tt := range []struct {
		name, text, want string
		header           history.Header
	}{
		{"fault never struck", handover, "fault 1 (pause) never struck", planned},
		{"fault failed", handover + "\n 800 fault failed 1 pause c1", "fault 1 (pause) could not strike", planned},
		{"fault struck", handover + "\n 800 fault start 1 pause c1", "", planned},
		{"too few grants", handover, "2 grants", leased(func(h *history.Header) { h.MinGrants = 3 })},
		{"no release", "0 c1 acquire\n1 c1 ok count=1\n2 c1 release\n3 c1 info err=unknown", "no release succeeded", leased(nil)},
		{"refused release without a fault", refused, "no release succeeded", leased(nil)},
		{"refused release after the lease", "0 c1 acquire lease=1000\n1 c1 ok count=1\n1002 c1 release\n1003 c1 fail err=lost", "", leased(nil)},
		{"refused release before the end of the lease", "0 c1 acquire lease=1000\n1 c1 ok count=1\n900 c1 release\n901 c1 fail err=lost", "no release succeeded", leased(nil)},
		{"refused release of a renewed hold", "0 c1 acquire lease=1000 renewed\n1 c1 ok count=1\n1002 c1 release\n1003 c1 fail err=lost", "no release succeeded", leased(nil)},
		{"refused release after a fault", "0 fault start 1 pause c1\n" + refused, "", planned},
		{"nothing", "0 end", "0 grants", leased(nil)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := Judge(story(t, tt.header, tt.text), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if (tt.want == "") != (r.Vacuous == "") || !strings.Contains(r.Vacuous, tt.want) {
				t.Fatalf("vacuous: %q, want %q", r.Vacuous, tt.want)
			}
			for p, v := range r.Verdicts {
				if r.Vacuous != "" && v.Outcome == OutcomeOK {
					t.Errorf("%s is ok in a vacuous run", p)
				}
			}
		})
	}
}

func TestClaimed(t *testing.T) {
	h := story(t, leased(nil), `
		0    c1 acquire lease=1000
		2    c1 ok count=1 token=4
		10   c1 acquire lease=1000
		12   c1 ok count=2 token=4
		20   c1 release
		21   c1 ok count=1
		30   c1 release
		31   c1 ok
		40   c2 acquire lease=500 renewed
		41   c2 ok count=1
		50   c2 lost
		51   c2 release
		52   c2 fail err=lost
		60   c3 acquire
		61   c3 ok count=1
		62   c3 crash
		70   c2 acquire
		71   c2 ok count=1
		80   c2 acquire
		81   c2 ok count=1
		90   end`)
	var got []string
	for _, c := range Beliefs(h) {
		got = append(got, fmt.Sprintf("%s %d-%d %s %d %d", c.Owner, c.From/millisecond, c.To/millisecond, c.EndedBy, c.AcquireOp, c.EndOp))
	}
	want := []string{
		"client-1/1 2-30 release 1 4",
		"client-2/1 41-50 lost 5 0",
		"client-3/1 61-62 crash 7 0",
		"client-2/1 71-81 lost 8 9",
		"client-2/1 81-90 end 9 0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Releases that take no time each have their own answer: the last one ends the hold.
func TestReleasesOfOneInstant(t *testing.T) {
	r, err := Judge(story(t, leased(nil), `
		0    c1 acquire lease=6000
		1    c1 ok count=1
		2    c1 acquire lease=6000
		3    c1 ok count=2
		10   c1 release
		10   c1 ok count=1
		10   c1 release
		12   c1 ok
		20   c2 acquire lease=6000
		21   c2 ok count=1
		30   c2 release
		31   c2 ok`), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if v := r.Verdicts[Exclusion]; v.Outcome != OutcomeOK {
		t.Errorf("exclusion: %+v", v)
	}
}
