package selftest

import (
	"time"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/scenarios"
)

const ms = time.Millisecond

// variations says what else a scenario of the catalogue may vary, and why its
// expectations do not depend on it. Times that are not mentioned are what the
// argument stands on. A scenario without an entry varies in seed, latency and
// lag alone.
//
//   - clock-drift has none because its holder ends between the grants of two
//     others, 0.3 s to either side;
//   - redlock's two clock and restart scenarios vary the holder's work only.
//
// Waiters that poll look every 50 to 100 ms, and up to 300 ms are allowed for
// a hand-off below.
var variations = map[string]func(v *variation){
	// Nothing fails, so anything goes: how many clients, how often, how long,
	// how far apart. The lease is at least four times the critical section and
	// the wait covers everybody's.
	"contention": func(v *variation) {
		v.latency(20*ms, 300*ms)
		v.Topology.Clients = v.number(2, 8)
		v.Workload.Holds = v.number(1, 30/v.Topology.Clients)
		think := v.think(5*ms, 1500*ms)
		v.Workload.Rest = v.between(0, 400*ms)
		v.Workload.Stagger = v.between(0, 300*ms)
		v.Workload.Lease = v.between(max(4*think, 2000*ms), 30000*ms)
		v.Workload.Explicit = v.chance(3)
		if v.chance(3) {
			v.Workload.Poll = v.between(50*ms, 1500*ms)
		}
		v.patience()
		v.Workload.MinGrants = v.Topology.Clients * v.Workload.Holds
	},
	// Nothing fails here either. A nested lease outlasts the work, so that no
	// hold ends before it is given back; the lease itself is renewed and may
	// be shorter than the work.
	"reentrancy": func(v *variation) {
		v.latency(20*ms, 300*ms)
		v.Topology.Clients = v.number(1, 4)
		v.Workload.Holds = v.number(1, 2)
		think := v.think(50*ms, 4000*ms)
		v.Workload.Rest = v.between(0, 400*ms)
		v.Workload.Lease = v.between(3000*ms, 12000*ms)
		v.Workload.Nested = nil
		for range v.number(1, 4) {
			lease := v.between(think+1500*ms, think+20000*ms)
			if v.chance(3) {
				lease = 0
			}
			v.Workload.Nested = append(v.Workload.Nested, lease)
		}
		v.patience()
		v.Workload.MinGrants = v.Topology.Clients * v.Workload.Holds * (1 + len(v.Workload.Nested))
	},
	// Client-1 dies in its second critical section, before 1.6 s; the others
	// come after that and outwait its lease.
	"holder-crash": func(v *variation) {
		v.Topology.Clients = v.number(3, 5)
		v.think(50*ms, 700*ms)
		v.Workload.Lease = v.between(6000*ms, 15000*ms)
		v.patience()
		v.Workload.Stagger = v.between(0, 20*ms)
		v.starts(2, 2000*ms, 2500*ms)
		for n := 3; n <= v.Topology.Clients; n++ {
			v.starts(n, 2000*ms, 3000*ms)
		}
	},
	// Client-2 is done with its first hold when client-1 comes, at 3 s, and
	// comes back after it.
	"crash-between-commands": func(v *variation) {
		v.think(50*ms, 500*ms)
		v.Workload.Lease = v.between(6000*ms, 12000*ms)
		v.Workload.Rest = v.between(3500*ms, 4500*ms)
		v.Workload.Wait = v.Workload.Lease + faults.Duration(5000*ms)
		v.starts(3, 3800*ms, 4500*ms)
	},
	// A scan of set-px-renew, at 8 s, falls into the last third of leases from
	// 8.5 to 11.5 s. Client-1 outlives the lease by more than the others need,
	// and they are done when it releases.
	"slow-holder": func(v *variation) {
		v.Workload.Lease = v.between(9000*ms, 11000*ms)
		lease := time.Duration(v.Workload.Lease)
		v.think(50*ms, 300*ms)
		v.thinks(1, lease+1100*ms, lease+1800*ms)
		v.starts(2, 500*ms, 1500*ms)
		v.starts(3, 500*ms, 1500*ms)
	},
	// Each late DEL meets the next one's hold: client-1 is done 1 to 3 s into
	// the hold that follows its lease, and all others work equally long.
	"late-release": func(v *variation) {
		v.thinks(1, 11500*ms, 12800*ms)
		v.think(5000*ms, 7000*ms)
		v.starts(2, 800*ms, 1500*ms)
	},
	// The DEL comes 2.5 s after the look, at 10.5 to 11.5 s, and the lease of
	// 10 s has ended; whoever follows works until 17 s at least.
	"check-then-delete": func(v *variation) {
		v.thinks(1, 8000*ms, 9000*ms)
		v.think(7000*ms, 9000*ms)
		v.starts(2, 7000*ms, 9500*ms)
	},
	// The others have four holds of at most 1.4 s each with their hand-offs,
	// from 10 s on, and are done before client-1 wakes up.
	"holder-pause": func(v *variation) {
		v.think(200*ms, 1100*ms)
		v.Workload.Rest = v.between(20*ms, 100*ms)
		v.starts(2, 1800*ms, 3000*ms)
		v.Faults[0].For = v.between(15500*ms, 19000*ms)
	},
	// The partition begins before the first renewal, at 3.3 s, and ends before
	// client-1 is done; the others are done by then too.
	"partitioned-holder": func(v *variation) {
		v.thinks(1, 20000*ms, 22000*ms)
		v.think(200*ms, 1100*ms)
		v.starts(2, 1500*ms, 3000*ms)
		v.Faults[0].After = v.between(200*ms, 2000*ms)
		v.Faults[0].For = v.between(16000*ms, 17500*ms)
	},
	"failover-lost-write":       lostWithItsServer,
	"failover-one-acked-of-two": lostWithItsServer,
	"cluster-failover":          lostWithItsServer,
	// Each side grants token 1, at 2.0 and 2.2 s, before either writes, and
	// client-1 writes before the holder of token 2 does, at 5.2 s.
	"isolated-primary": func(v *variation) {
		v.thinks(1, 1000*ms, 2800*ms)
		v.think(1500*ms, 2500*ms)
		v.Workload.Lease = v.between(18000*ms, 30000*ms)
	},
	// Client-1 is done before its first renewal, at 3.3 s, and in the hold of
	// the second of the others.
	"clock-jump": func(v *variation) {
		v.thinks(1, 2700*ms, 3100*ms)
		v.think(1700*ms, 2100*ms)
		v.Faults[0].By = v.between(12000*ms, 60000*ms)
	},
	// The jump is longer than the lease of 24 s.
	"redlock-clock-jump": func(v *variation) {
		v.thinks(1, 4000*ms, 4700*ms)
		v.think(600*ms, 1400*ms)
		v.Faults[1].By = v.between(25000*ms, 60000*ms)
	},
	"redlock-node-restart": func(v *variation) {
		v.thinks(1, 4000*ms, 4700*ms)
		v.think(600*ms, 1400*ms)
	},
	// The node stays away for longer than the lease of 15 s.
	"redlock-node-restart-delayed": func(v *variation) {
		v.thinks(1, 3500*ms, 4700*ms)
		v.think(600*ms, 1400*ms)
		v.Faults[1].For = v.between(16000*ms, 25000*ms)
	},
	// The replies are slower than the lease of 2 s and faster than the 3 s
	// after which go-redis gives up. What client-1 was granted unheard, before
	// 1.5 s, is over when the others come, at 3.6 s.
	"redlock-slow-replies": func(v *variation) {
		v.think(700*ms, 1100*ms)
		v.Workload.Rest = v.between(100*ms, 350*ms)
		v.Faults[0].By = v.between(2200*ms, 2800*ms)
		v.Faults[0].For = v.between(6000*ms, 10000*ms)
	},
	// The waiter finds the lock held, whatever it does, and looks once a
	// second.
	"lost-unlock-message": func(v *variation) {
		v.latency(20*ms, 40*ms)
		v.think(1200*ms, 4000*ms)
		v.Workload.Rest = v.between(50*ms, 500*ms)
		v.Workload.Lease = v.between(20000*ms, 40000*ms)
		v.starts(2, 300*ms, 1000*ms)
	},
	// The SUBSCRIBE begins before the release and arrives after it, at most
	// 0.4 s late, and the hand-off allows 1 s.
	"slow-subscribe": func(v *variation) {
		hold := v.think(600*ms, 2000*ms)
		v.starts(2, hold-350*ms, hold-100*ms)
		v.Faults[0].By = v.between(400*ms, 550*ms)
		v.Workload.Lease = v.between(20000*ms, 40000*ms)
	},
	// Nobody but client-1 takes the lock between 3 and 6 s: client-2 has let
	// go of it long before and rests.
	"lost-acquire-reply": func(v *variation) {
		v.think(100*ms, 600*ms)
		v.Workload.Rest = v.between(6500*ms, 8000*ms)
		v.Workload.Lease = v.between(9000*ms, 11000*ms)
		v.starts(3, 6300*ms, 7500*ms)
		v.Faults[0].For = v.between(600*ms, 1500*ms)
	},
	// The request comes again while both holds are wanted.
	"lost-nested-reply": func(v *variation) {
		v.Topology.Clients = v.number(2, 4)
		v.Workload.Holds = v.number(1, 3)
		v.think(100*ms, 900*ms)
		v.Workload.Lease = v.between(7000*ms, 20000*ms)
		v.patience()
		v.Faults[0].For = v.between(300*ms, 1600*ms)
	},
	// The release comes again while the next holder works.
	"lost-release-reply": func(v *variation) {
		v.thinks(1, 700*ms, 1500*ms)
		v.think(2700*ms, 3500*ms)
		v.Faults[0].For = v.between(1500*ms, 2200*ms)
	},
	// The server is away for the scan of set-px-renew at 8 s, and back before
	// the renewal of 6.7 s runs out, at 16.7 s; client-1 works for longer.
	"renewal-hiccup": func(v *variation) {
		v.thinks(1, 17500*ms, 18200*ms)
		v.think(500*ms, 1200*ms)
	},
	// Client-3 is told to give up while client-2 works, and client-2 rests
	// when client-1 comes.
	"cancelled-acquire": func(v *variation) {
		v.think(100*ms, 500*ms)
		v.Workload.Rest = v.between(2800*ms, 4000*ms)
		v.Faults[0].After = v.between(200*ms, 700*ms)
	},
	// The deferred unlock of client-1's second hold comes while client-2 waits.
	"cancelled-release": func(v *variation) {
		v.think(900*ms, 1200*ms)
	},
	// Forgotten scripts cost a round trip, whoever else is there. Client-1
	// works past 5 s, when they are forgotten between two renewals.
	"script-flush": func(v *variation) {
		v.latency(20*ms, 40*ms)
		v.Topology.Clients = v.number(3, 5)
		v.Workload.Holds = v.number(1, 3)
		v.thinks(1, 5500*ms, 9000*ms)
		v.think(100*ms, 1500*ms)
		v.Workload.Rest = v.between(20*ms, 300*ms)
		for n := 3; n <= v.Topology.Clients; n++ {
			v.starts(n, 200*ms, 1500*ms)
		}
	},
	// The server is back before client-2 comes; client-1 is done before its
	// first renewal, at 6 s, and in the hold of the second of the others.
	"restart-without-data": func(v *variation) {
		v.thinks(1, 3700*ms, 4400*ms)
		v.think(1800*ms, 2200*ms)
		v.Workload.Lease = v.between(18000*ms, 25000*ms)
		v.Faults[0].For = v.between(200*ms, 800*ms)
	},
	// Client-1 is done in the third hold of the others, which begins before
	// 3.9 s and lasts until 4.7 s.
	"key-deleted": func(v *variation) {
		v.thinks(1, 4050*ms, 4500*ms)
		v.think(1400*ms, 1530*ms)
		v.Workload.Lease = v.between(18000*ms, 25000*ms)
	},
	// Client-2 is done before the renewal at 3.3 s, and client-1 is not.
	"deleted-between-renewals": func(v *variation) {
		v.thinks(1, 5000*ms, 7000*ms)
		v.thinks(2, 200*ms, 1000*ms)
		v.starts(2, 1200*ms, 1800*ms)
	},
	// Client-2 works past the scan of set-px-renew at 8 s, in which its own
	// hold is not yet in its last third; client-1 works longer.
	"stolen-between-renewals": func(v *variation) {
		v.think(10500*ms, 12000*ms)
		v.thinks(2, 7300*ms, 8300*ms)
		v.starts(2, 1450*ms, 1800*ms)
	},
	// The server is away when the second hold of set-px-renew ends, 10 s after
	// its grant, and back before client-2 comes.
	"down-at-release": func(v *variation) {
		v.think(3900*ms, 4200*ms)
		v.Faults[0].For = v.between(6400*ms, 6700*ms)
	},
	// The work is longer than the lease, whoever else is there.
	"inner-release": func(v *variation) {
		v.latency(20*ms, 40*ms)
		v.Topology.Clients = v.number(2, 3)
		v.think(6500*ms, 12000*ms)
		v.Workload.Rest = v.between(20*ms, 500*ms)
		v.patience()
		v.Workload.MinGrants = v.Topology.Clients * v.Workload.Holds * (1 + len(v.Workload.Nested))
	},
	// Client-1 has given up before client-2 comes, and the partition outlasts
	// its wait.
	"member-out-of-reach": func(v *variation) {
		v.think(100*ms, 1500*ms)
		v.Faults[0].For = v.between(5000*ms, 18000*ms)
	},
	// The last renewal is on its way when the link is cut or long before.
	"slow-link-then-cut": func(v *variation) {
		v.thinks(1, 19500*ms, 21000*ms)
		v.think(300*ms, 2500*ms)
		v.Faults[0].By = v.between(200*ms, 1000*ms)
	},
	// The link is back a second before client-2 comes.
	"unconfirmed-acquire": func(v *variation) {
		v.think(100*ms, 1500*ms)
		v.Faults[0].For = v.between(3300*ms, 4400*ms)
	},
	// The waits end, and the tries come, while client-1 works; client-3 comes
	// after that.
	"wait-runs-out": func(v *variation) {
		v.think(7000*ms, 9000*ms)
		v.starts(2, 500*ms, 3500*ms)
		v.starts(3, 9600*ms, 12000*ms)
		v.starts(4, 500*ms, 6500*ms)
	},
	// Client-2 is killed while client-1 works.
	"waiter-crash": func(v *variation) {
		v.think(2200*ms, 4000*ms)
		v.thinks(3, 50*ms, 600*ms)
	},
	// They never look by themselves within the time that a hand-off may take.
	"woken-by-message": func(v *variation) {
		v.latency(20*ms, 40*ms)
		v.think(500*ms, 1600*ms)
		v.Workload.Rest = v.between(50*ms, 400*ms)
		v.starts(2, 150*ms, 400*ms)
	},
	// The cut falls between the first release of client-1 and its next
	// acquire, and its third release comes before 6 s.
	"fence-rollback": func(v *variation) {
		v.think(200*ms, 900*ms)
		v.Workload.Rest = v.between(400*ms, 900*ms)
		v.Workload.Lease = v.between(6000*ms, 15000*ms)
	},
	// The replies come back after the first release was given up, at 5 s, and
	// within the lease.
	"unanswered-inner-release": func(v *variation) {
		v.think(200*ms, 1500*ms)
		v.Workload.Lease = v.between(10000*ms, 15000*ms)
	},
	"fence-rollback-clock-behind": func(v *variation) {
		v.think(200*ms, 900*ms)
		v.Workload.Rest = v.between(400*ms, 900*ms)
		v.Workload.Lease = v.between(6000*ms, 15000*ms)
	},
	// Both close before client-1's first renewal, at 3.3 s, and its process
	// ends after it.
	"shutdown": func(v *variation) {
		v.think(200*ms, 1500*ms)
		closes := v.between(1700*ms, 3000*ms)
		v.override(1, func(o *scenarios.Override) { o.Close = &closes })
	},
}

// lostWithItsServer varies the scenarios in which a failover at 2 s loses the
// lock. Client-1 is done before its first renewal, at 6 s, and in the hold of
// the second of the others, which begins before 4.8 s and lasts until 5.8 s.
func lostWithItsServer(v *variation) {
	v.thinks(1, 4900*ms, 5500*ms)
	v.think(1900*ms, 2200*ms)
	v.Workload.Lease = v.between(18000*ms, 25000*ms)
}
