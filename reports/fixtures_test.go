package reports

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/reports/results"
)

// recorder builds a history by hand, in any order; times are in milliseconds.
type recorder struct {
	h  history.History
	op int64
}

func record(scenario, lock string, claims history.Claims) *recorder {
	return &recorder{h: history.History{Header: history.Header{
		Format: history.Format, Scenario: scenario, Lock: lock, World: "sim", Seed: 1, Version: "test",
		Claims: history.Terms{Claims: claims}, Resource: &history.Resource{Initial: 100},
	}}}
}

func ns(ms float64) int64 { return int64(ms * 1e6) }

func (r *recorder) add(ms float64, e history.Event) {
	e.Time = ns(ms)
	r.h.Events = append(r.h.Events, e)
}

// op records an invocation and its return and returns the operation's id.
func (r *recorder) call(f history.Func, client string, from, to float64, kind history.Kind, a *history.Args, res *history.Result) int64 {
	r.op++
	e := history.Event{Op: r.op, F: f, Client: client, Owner: client + "/1", Lock: "stock"}
	in, out := e, e
	in.Kind, in.Args = history.Invoke, a
	out.Kind, out.Result = kind, res
	r.add(from, in)
	if kind != "" {
		r.add(to, out)
	}
	return r.op
}

func (r *recorder) acquire(client string, from, to float64, token uint64) int64 {
	return r.call(history.Acquire, client, from, to, history.OK,
		&history.Args{Lease: ns(3000), Wait: -1}, &history.Result{Count: 1, Token: token})
}

func (r *recorder) release(client string, from, to float64) int64 {
	return r.call(history.Release, client, from, to, history.OK, nil, &history.Result{})
}

func (r *recorder) sell(client string, read, write float64, saw, over int64) (int64, int64) {
	a := r.call(history.Read, client, read, read+0.4, history.OK, nil, &history.Result{Value: saw})
	b := r.call(history.Write, client, write, write+0.4, history.OK, &history.Args{Value: saw - 1, Base: saw}, &history.Result{Value: over})
	return a, b
}

func (r *recorder) server(ms float64, node, role, cause, command, by, was, now string) {
	s := &history.ServerEvent{Node: node, Role: role, Key: "stock", Cause: cause, Command: command, By: by, WasHolder: was, Holder: now}
	if was != "" {
		s.WasCount, s.WasTTL = 1, ns(1000)
	}
	if now != "" {
		s.Count, s.TTL = 1, ns(3000)
	}
	r.add(ms, history.Event{Kind: history.Server, Server: s})
}

func (r *recorder) fault(ms float64, id int, kind, phase, detail string, targets ...string) {
	r.add(ms, history.Event{Kind: history.Fault, Fault: &history.FaultEvent{ID: id, Name: kind, Phase: phase, Targets: targets, Detail: detail}})
}

func (r *recorder) note(ms float64, f history.Func, client, message string) {
	e := history.Event{Kind: history.Note, F: f, Client: client, Result: &history.Result{Message: message}}
	if f != history.Crashed {
		e.Owner, e.Lock = client+"/1", "stock"
	}
	r.add(ms, e)
}

func (r *recorder) end(ms float64) *history.History {
	r.add(ms, history.Event{Kind: history.End, End: &history.EndEvent{}})
	slices.SortStableFunc(r.h.Events, func(a, b history.Event) int { return cmp.Compare(a.Time, b.Time) })
	r.plan()
	return &r.h
}

// plan lists the faults that struck, with their traits.
func (r *recorder) plan() {
	all := &r.h.Header.Faults
	for _, e := range r.h.Events {
		if f := e.Fault; f != nil && !slices.ContainsFunc(*all, func(p history.PlannedFault) bool { return p.ID == f.ID }) {
			*all = append(*all, history.PlannedFault{ID: f.ID, Fault: f.Name, Targets: f.Targets})
		}
	}
	for i := range *all {
		(*all)[i].Traits = faults.Spec{Fault: (*all)[i].Fault}.Traits()
	}
}

// failoverStory: the grant of client-1 does not reach the replica that becomes
// primary. That replica grants the same lock to client-2, and an update is lost.
func failoverStory() (*history.History, results.Run) {
	r := record("failover-lost-write", "reentrant", history.Claims{Reentrant: true, Lease: true, Renewal: true, LostSign: true})
	const n, rep = "node-1", "node-1-replica-1"
	a0 := r.acquire("client-3", 120, 121.2, 0)
	_ = a0
	r.server(120.7, n, "primary", "command", "EVALSHA", "client-3", "", "client-3/1")
	r.server(121.1, rep, "replica", "replication", "", "", "", "client-3/1")
	r.sell("client-3", 122, 480, 100, 100)
	r.server(540.5, n, "primary", "command", "EVALSHA", "client-3", "client-3/1", "")
	r.server(541, rep, "replica", "replication", "", "", "client-3/1", "")
	r.release("client-3", 540, 541.1)
	a1 := r.acquire("client-1", 500, 542.6, 0)
	r.fault(530, 1, "cut-replication", history.PhaseStart, "node-1-replica-1 receives nothing", n, rep)
	r.server(542, n, "primary", "command", "EVALSHA", "client-1", "", "client-1/1")
	r.sell("client-1", 544, 4900, 99, 98)
	for _, t := range []float64{900, 1190} {
		r.server(t, n, "primary", "command", "EVALSHA", "client-1", "client-1/1", "client-1/1")
	}
	r.fault(1204, 2, "failover", history.PhaseStart, "node-1 crashes and node-1-replica-1 takes over; 3 writes were not replicated", n)
	r.h.Events[len(r.h.Events)-1].Fault.Promoted = "node-1-replica-1"
	a2 := r.call(history.Acquire, "client-2", 800, 2210.4, history.OK, &history.Args{Lease: ns(3000), Wait: -1, Renewed: true}, &history.Result{Count: 1})
	r.server(2209.9, rep, "primary", "command", "EVALSHA", "client-2", "", "client-2/1")
	for _, t := range []float64{3200, 4200} {
		r.server(t, rep, "primary", "command", "EVALSHA", "client-2", "client-2/1", "client-2/1")
	}
	_, w2 := r.sell("client-2", 2212, 3900, 99, 99)
	_ = w2
	r.fault(3000, 1, "cut-replication", history.PhaseEnd, "", n, rep)
	r.note(5200, history.Lost, "client-1", "renewal refused: hold is gone")
	r.server(5600.5, rep, "primary", "command", "EVALSHA", "client-2", "client-2/1", "")
	e2 := r.release("client-2", 5600, 5601.2)
	h := r.end(9000)
	run := results.Run{Scenario: "failover-lost-write", Lock: "reentrant", World: "sim", Seed: 1, AsExpected: true,
		Verdicts: map[checker.Property]checker.Verdict{
			checker.Exclusion: {Outcome: checker.Violated, Class: checker.ContractBroken, AtMS: 2210.4, OverlapMS: 2989.6, Ops: []int64{a1, a2, e2},
				Reason: "client-2 was granted the lock while client-1's lease was still owed", Inherent: "the servers lost the grant"},
			checker.ResourceSafe: {Outcome: checker.Violated, AtMS: 4900.4, Reason: "client-1 wrote 98 over 98, and had read 99"},
			checker.Progress:     {Outcome: checker.OutcomeOK},
			checker.Cleanup:      {Outcome: checker.OutcomeOK},
		},
		Expected: map[checker.Property]checker.Outcome{
			checker.Exclusion: checker.Violated, checker.ResourceSafe: checker.Violated,
			checker.Progress: checker.OutcomeOK, checker.Cleanup: checker.OutcomeOK,
		},
		ExpectedClass: map[checker.Property]string{checker.Exclusion: checker.ContractBroken},
		Because:       map[checker.Property]string{checker.Exclusion: "replication is asynchronous: the replica that takes over never saw the grant"},
		Stats:         results.Stats{Ops: 12, VirtualMS: 9000, WallMS: 3.5, Commands: 61},
		HistorySHA256: fmt.Sprintf("%064x", 7),
	}
	return h, run
}

// pauseStory: a holder sleeps past its lease, and deletes the lock of the next
// one when it wakes up.
func pauseStory() (*history.History, results.Run) {
	r := record("holder-pause", "set-px", history.Claims{Lease: true})
	const n = "node-1"
	a1 := r.acquire("client-1", 100, 101, 0)
	r.server(100.6, n, "primary", "command", "SET", "client-1", "", "client-1/1")
	r.sell("client-1", 102, 7050, 100, 99)
	r.fault(300, 1, "pause", history.PhaseStart, "client-1 stops between reading and writing", "client-1")
	a2 := r.acquire("client-2", 200, 3110, 0)
	r.server(3100.6, n, "primary", "expiry", "", "", "client-1/1", "")
	r.server(3109.6, n, "primary", "command", "SET", "client-2", "", "client-2/1")
	r.sell("client-2", 3112, 3500, 100, 100)
	r.release("client-2", 3600, 3601)
	r.server(3600.5, n, "primary", "command", "DEL", "client-2", "client-2/1", "")
	a3 := r.acquire("client-2", 6000, 6001, 0)
	r.server(6000.5, n, "primary", "command", "SET", "client-2", "", "client-2/1")
	r.fault(7000, 1, "pause", history.PhaseEnd, "", "client-1")
	e1 := r.release("client-1", 7060, 7061)
	r.server(7060.5, n, "primary", "command", "DEL", "client-1", "client-2/1", "")
	r.acquire("client-3", 6500, 7070, 0)
	r.server(7069.5, n, "primary", "command", "SET", "client-3", "", "client-3/1")
	r.call(history.Release, "client-2", 7900, 7901, history.Fail, nil, &history.Result{Error: history.ErrNotHeld, Message: "lock: not held by this owner"})
	r.release("client-3", 8200, 8201)
	r.server(8200.5, n, "primary", "command", "DEL", "client-3", "client-3/1", "")
	r.note(8500, history.Crashed, "client-3", "")
	h := r.end(12000)
	run := results.Run{Scenario: "holder-pause", Lock: "set-px", World: "sim", Seed: 1, AsExpected: false,
		Verdicts: map[checker.Property]checker.Verdict{
			checker.Exclusion: {Outcome: checker.Violated, Class: checker.LeaseOutlived, AtMS: 3110, OverlapMS: 1059, Ops: []int64{a1, a2},
				Reason: "client-1 went on for 4,060 ms after its lease", Inherent: "client-1 was stopped when its lease ended"},
			checker.Ownership: {Outcome: checker.Violated, AtMS: 7060.5, Ops: []int64{e1, a3},
				Reason: "client-1 released the hold of client-2", Evidence: "server log"},
			checker.Progress: {Outcome: checker.Unknown, Reason: "too few operations"},
		},
		Expected: map[checker.Property]checker.Outcome{checker.Exclusion: checker.Violated, checker.Ownership: checker.OutcomeOK, checker.Progress: checker.OutcomeOK},
		Because:  map[checker.Property]string{checker.Exclusion: "a paused process cannot notice that its lease ends"},
		Stats:    results.Stats{Ops: 14, VirtualMS: 12000, WallMS: 2, Commands: 30},
	}
	return h, run
}

// contentionStory: clients take turns without a violation.
func contentionStory(lock string, clients, rounds int, seed uint64) (*history.History, results.Run) {
	r := record("contention", lock, history.Claims{Lease: true, Fencing: true})
	rnd := rand.New(rand.NewPCG(seed, 1))
	now, stock := 10.0, int64(100)
	prev := ""
	free := make([]float64, clients) // when each client asks again
	for i := range clients * rounds {
		c := fmt.Sprintf("client-%d", i%clients+1)
		asked := max(free[i%clients], float64(i%clients)+1)
		got := now + 0.3 + rnd.ExpFloat64()
		r.acquire(c, asked, got, uint64(i+1))
		r.server(got-0.2, "node-1", "primary", "command", "EVALSHA", c, prev, c+"/1")
		r.sell(c, got+1, got+20, stock, stock)
		stock--
		now = got + 25 + 5*rnd.Float64()
		r.server(now+0.3, "node-1", "primary", "command", "EVALSHA", c, c+"/1", "")
		r.release(c, now, now+0.6)
		free[i%clients] = now + 5
		now += 0.7
	}
	h := r.end(now + 3000)
	run := results.Run{Scenario: "contention", Lock: lock, World: "sim", Seed: seed, AsExpected: true,
		Verdicts: map[checker.Property]checker.Verdict{}, Expected: map[checker.Property]checker.Outcome{},
		Stats: results.Stats{Ops: len(h.Events) / 2, VirtualMS: now + 3000, WallMS: 1, Commands: 4 * clients * rounds},
	}
	for _, p := range checker.Properties() {
		run.Verdicts[p.Name] = checker.Verdict{Outcome: checker.OutcomeOK}
		run.Expected[p.Name] = checker.OutcomeOK
	}
	return h, run
}

// sample is a document of the three stories.
func sample() Document {
	h1, r1 := failoverStory()
	h2, r2 := pauseStory()
	h3, r3 := contentionStory("reentrant", 3, 3, 1)
	histories := map[string]*history.History{r1.Scenario: h1, r2.Scenario: h2, r3.Scenario: h3}
	return Document{
		Results: results.Results{Version: "1.2.3", Command: "holdfast run --seed 1", Runs: []results.Run{r3, r1, r2},
			Skipped: []results.Skip{{Scenario: "contention", Lock: "set-px", Reason: "made up for the example"}}},
		About: []About{
			{Name: "contention", Title: "Many clients, nothing wrong", Story: "Three clients take the lock in turn.\nNothing fails."},
			{Name: "failover-lost-write", Title: "A failover loses the grant", Story: "The primary grants the lock and crashes before the write reaches its replica.\n\nThe replica takes over and grants the lock again."},
			{Name: "holder-pause", Title: "The holder is paused past its lease", Story: "The process that holds the lock stops for longer than its lease and then goes on."},
		},
		Histories: func(r results.Run) (*history.History, error) { return histories[r.Scenario], nil },
	}
}

var sampleLocks = []string{
	"setnx", "setnx-expire", "set-px", "set-px-check", "set-px-watch", "set-px-lua", "set-px-renew",
	"reentrant", "reentrant-wait", "multi", "redlock", "fenced",
}

var sampleScenarios = []string{
	"contention", "reentrancy", "holder-crash", "crash-between-commands", "slow-holder", "late-release", "check-then-delete",
	"holder-pause", "partitioned-holder", "failover-lost-write", "failover-one-acked-of-two", "isolated-primary", "clock-jump",
	"clock-drift", "redlock-clock-jump", "redlock-node-restart", "redlock-slow-replies", "lost-unlock-message", "slow-subscribe",
	"lost-acquire-reply", "lost-release-reply", "renewal-hiccup", "cancelled-acquire", "script-flush", "restart-without-data",
	"key-deleted", "cluster-failover", "fence-rollback", "shutdown",
}

// catalogue is an invented document of the size of the whole catalogue.
func catalogue() Document {
	h1, bad := failoverStory()
	h2, late := pauseStory()
	var d Document
	histories := map[[2]string]*history.History{}
	for i, s := range sampleScenarios {
		d.About = append(d.About, About{Name: s, Title: "About " + s, Story: "What is done in " + s + ", and why it matters."})
		for j, l := range sampleLocks {
			if i == 14 && l != "redlock" {
				d.Results.Skipped = append(d.Results.Skipped, results.Skip{Scenario: s, Lock: l, Reason: "needs several primaries"})
				continue
			}
			var run results.Run
			var h *history.History
			switch {
			case (i*7+j*3)%11 == 0:
				h, run = h1, bad
			case (i*5+j)%13 == 0:
				h, run = h2, late
				run.AsExpected = i != 7
				run.Expected = map[checker.Property]checker.Outcome{checker.Exclusion: checker.Violated, checker.Ownership: checker.Violated, checker.Progress: checker.Unknown}
				if i == 7 {
					run.Expected = late.Expected
				}
			default:
				h, run = contentionStory(l, 5, 8, uint64(i*12+j))
			}
			run.Scenario, run.Lock, run.Seed = s, l, 1
			histories[[2]string{s, l}] = h
			d.Results.Runs = append(d.Results.Runs, run)
		}
	}
	d.Results.Version, d.Results.Command = "1.2.3", "holdfast run"
	d.Histories = func(r results.Run) (*history.History, error) { return histories[[2]string{r.Scenario, r.Lock}], nil }
	return d
}
