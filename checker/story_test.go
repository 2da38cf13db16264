package checker

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/checker/history"
)

// story writes a history from lines such as
//
//	0    c1 acquire lease=1000 wait=0
//	3    server n1 SET by=c1 holder=c1 ttl=1000
//	5    c1 ok count=1 token=7
//	6    c1 read; 7 ok value=10
//	100  fault start 1 pause c1
//	200  c1 lost
//	210  log sentinel-1 +sdown master n1
//	300  end
//
// Times and durations are milliseconds. c1 is client-1 and its owner client-1/1, c1.2 its
// owner client-1/2, n1 is node-1, n1r1 its first replica. Operations get ids from 1 in
// the order of their invocations, and a final "end" is added when there is none. The
// state of a server before a change is that of its last line, unless was=c1 or wasttl=500
// says it. "10 c1 takes lease=1000" is an acquire at 10, its SET on n1 at 11, and its return
// at 12, and "20 c1 gives" a release in the same way.
func story(t testing.TB, h history.Header, text string) *history.History {
	t.Helper()
	h.Format = history.Format
	out := &history.History{Header: h}
	open := map[string]*history.Event{}
	servers := map[string]*history.Event{}
	var id int64
	var last int64
	for _, line := range strings.Split(returns.ReplaceAllString(wholes.ReplaceAllStringFunc(text, spellOut), "$1\n$3 $2"), "\n") {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if len(words) == 1 {
			t.Fatalf("bad line %q", line)
		}
		e := history.Event{Time: number(t, words[0])}
		last = e.Time
		plain, opts := split(words[1:])
		num := func(key string) int64 { return number(t, opts[key]) }
		raw := func(key string) int64 { n, _ := strconv.ParseInt(opts[key], 10, 64); return n }
		result := func() *history.Result {
			named := ""
			if opts["holder"] != "" {
				_, named = who(opts["holder"])
			}
			return &history.Result{Holder: named, Count: int(raw("count")), Token: uint64(raw("token")), Value: raw("value"), Until: num("until"), Since: num("since"), Error: opts["err"], Message: opts["msg"]}
		}
		switch plain[0] {
		case "end":
			e.Kind, e.End = history.End, &history.EndEvent{Subscriptions: int(raw("subs")), Connections: int(raw("conns"))}
			if opts["keys"] != "" {
				e.End.Keys = strings.Split(opts["keys"], ",")
			}
			if opts["goroutine"] != "" {
				e.End.Goroutines = []string{opts["goroutine"]}
			}
		case "fault":
			f := &history.FaultEvent{Phase: plain[1], Name: plain[3]}
			f.ID, _ = strconv.Atoi(plain[2])
			for _, target := range plain[4:] {
				if strings.HasPrefix(target, "c") {
					target, _ = who(target)
				} else {
					target = where(target)
				}
				f.Targets = append(f.Targets, target)
			}
			e.Kind, e.Fault = history.Fault, f
		case "log":
			e.Kind, e.Log = history.Log, &history.LogEvent{Server: plain[1], Text: strings.Join(plain[2:], " ")}
		case "server":
			s := &history.ServerEvent{Node: where(plain[1]), Role: "primary", Key: "stock", Cause: "command"}
			if len(plain) > 2 {
				s.Command = plain[2]
			}
			if strings.Contains(s.Node, "replica") {
				s.Role = "replica"
			}
			if opts["role"] != "" {
				s.Role = opts["role"]
			}
			if opts["cause"] != "" {
				s.Cause = opts["cause"]
			}
			if opts["by"] != "" {
				s.By, _ = who(opts["by"])
			}
			if holder := opts["holder"]; holder != "" {
				_, s.Holder = who(holder)
				s.Count, s.TTL = int(max(raw("count"), 1)), num("ttl")
				if opts["ttl"] == "-1" {
					s.TTL = -1
				}
			}
			if p := servers[s.Node]; p != nil {
				s.WasHolder, s.WasCount, s.WasTTL = p.Server.Holder, p.Server.Count, p.Server.TTL
				if s.WasTTL > 0 {
					s.WasTTL = max(s.WasTTL-(e.Time-p.Time), 0)
				}
				if s.WasTTL == 0 {
					s.WasHolder, s.WasCount = "", 0
				}
			}
			if was := opts["was"]; was != "" { // its clock says that the time is not over
				_, s.WasHolder = who(was)
				s.WasCount, s.WasTTL = 1, 1
			}
			if opts["wasttl"] != "" { // by its clock
				s.WasTTL = num("wasttl")
			}
			e.Kind, e.Lock, e.Server = history.Server, "stock", s
			servers[s.Node] = &e
		default:
			e.Client, e.Owner = who(plain[0])
			e.Lock = "stock"
			switch verb := plain[1]; verb {
			case "acquire", "release", "read", "write", "inspect", "extend", "observe":
				id++
				e.Kind, e.F, e.Op = history.Invoke, history.Func(verb), id
				wait := num("wait")
				if opts["wait"] == "-1" {
					wait = -1
				}
				_, renewed := opts["renewed"]
				self := ""
				if opts["self"] != "" {
					_, self = who(opts["self"])
				}
				e.Args = &history.Args{Share: history.Share{Mode: history.Mode(opts["mode"]), Permits: int(raw("permits"))}, Lease: num("lease"), Wait: wait, Renewed: renewed, Self: self, Value: raw("value"), Base: raw("base"), Token: uint64(raw("token"))}
				open[e.Owner] = &e
			case "ok", "fail", "info":
				inv := open[e.Owner]
				if inv == nil {
					t.Fatalf("line %q returns nothing", line)
				}
				e.Kind, e.F, e.Op, e.Result = history.Kind(verb), inv.F, inv.Op, result()
			case "lost":
				e.Kind, e.F = history.Note, history.Lost
			case "stopped":
				e.Kind, e.F = history.Note, history.Stopped
			case "crash":
				e.Kind, e.F, e.Owner, e.Lock, e.Result = history.Note, history.Crashed, "", "", result()
			case "closed":
				e.Kind, e.F, e.Owner, e.Lock, e.Result = history.Note, history.Closed, "", "", result()
			case "panic":
				e.Kind, e.F, e.Result = history.Note, history.Panic, result()
			default:
				t.Fatalf("bad line %q", line)
			}
		}
		out.Events = append(out.Events, e)
	}
	if n := len(out.Events); n == 0 || out.Events[n-1].Kind != history.End {
		out.Events = append(out.Events, history.Event{Time: last, Kind: history.End, End: &history.EndEvent{}})
	}
	planned(out)
	return out
}

// wholes finds acquires and releases with their changes on the server.
var wholes = regexp.MustCompile(`(?m)^\s*(\d+)\s+(\S+) (takes (lease=(\d+).*)|gives)$`)

func spellOut(whole string) string {
	m := wholes.FindStringSubmatch(whole)
	at, _ := strconv.Atoi(m[1])
	if m[3] == "gives" {
		return fmt.Sprintf("\n%d %[4]s release\n%[2]d server n1 DEL by=%[4]s\n%[3]d %[4]s ok", at, at+1, at+2, m[2])
	}
	return fmt.Sprintf("\n%d %[4]s acquire %[5]s\n%[2]d server n1 SET by=%[4]s holder=%[4]s ttl=%[6]s\n%[3]d %[4]s ok count=1", at, at+1, at+2, m[2], m[4], m[5])
}

// returns finds the return of an operation in the line of its invocation.
var returns = regexp.MustCompile(`(?m)^(\s*\S+\s+(\S+)[^;\n]*);\s*(\S+)`)

func split(words []string) (plain []string, opts map[string]string) {
	opts = map[string]string{}
	for _, w := range words {
		if k, v, ok := strings.Cut(w, "="); ok {
			opts[k] = v
		} else if w == "renewed" {
			opts[w] = ""
		} else {
			plain = append(plain, w)
		}
	}
	return plain, opts
}

func number(t testing.TB, s string) int64 {
	if s == "" {
		return 0
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatalf("%q is no number", s)
	}
	return int64(f * float64(millisecond))
}

// who turns "c1.2" into client-1 and client-1/2.
func who(s string) (client, owner string) {
	n, thread, ok := strings.Cut(strings.TrimPrefix(s, "c"), ".")
	if !strings.HasPrefix(s, "c") {
		return s, s
	}
	if !ok {
		thread = "1"
	}
	return "client-" + n, fmt.Sprintf("client-%s/%s", n, thread)
}

func where(s string) string {
	n, r, ok := strings.Cut(strings.TrimPrefix(s, "n"), "r")
	switch {
	case !strings.HasPrefix(s, "n"):
		return s
	case ok:
		return "node-" + n + "-replica-" + r
	}
	return "node-" + n
}
