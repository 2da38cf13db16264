package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"time"
)

// uncontendedReport writes the first table and its bars.
func uncontendedReport(w io.Writer, b *bars, contenders []opened, p []pairs) {
	floor := slices.IndexFunc(contenders, func(s opened) bool { return s.name == floorName })
	best := fastest(contenders, p)
	redislock := slices.IndexFunc(contenders, func(s opened) bool { return s.name == "redislock" })
	t := newTable(w, "acquire + release", "p50, us", "p99, us", "pairs/s, one owner", fmt.Sprintf("pairs/s, %d owners", parallelOwners),
		"p50 / floor", "p50 / fastest other", "requests per pair", "of which call in scripts")
	for i, s := range contenders {
		if s.why != nil {
			t.notMeasured(s.label(), s.why)
			continue
		}
		t.row(s.label(), spreadOf(p[i].p50).micros(), spreadOf(p[i].p99).micros(),
			fmt.Sprintf("%.0f", median(p[i].rate)), fmt.Sprintf("%.0f", median(p[i].parallel)),
			ratios(p[i].p50, p[floor].p50).times(), ratios(p[i].p50, p[best].p50).times(),
			perOp(p[i].counted.requests, countedPairs), perOp(p[i].counted.inScripts, countedPairs))
	}
	for i, s := range contenders {
		if !s.ours {
			continue
		}
		bar := 1.25
		if s.fair {
			bar = 1.5
		}
		r := ratios(p[i].p50, p[floor].p50)
		b.add(fmt.Sprintf("uncontended, %s: within %v of the floor", s.name, bar), r.times(), r.median <= bar)
		if !s.fair {
			r = ratios(p[i].p50, p[redislock].p50)
			b.add("uncontended, "+s.name+": within 1.5 of redislock", r.times(), r.median <= 1.5)
		}
	}
}

// fastest is the Go lock with the lowest median, ours left out.
func fastest(contenders []opened, p []pairs) int {
	best, low := -1, math.Inf(1)
	for i, s := range contenders {
		if s.lock && !s.ours && !s.foreign && s.why == nil {
			if m := median(p[i].p50); m < low {
				best, low = i, m
			}
		}
	}
	return best
}

// handoffReport writes the table of one case and adds its bars. trip is a
// round trip, in microseconds.
func handoffReport(w io.Writer, b *bars, contenders []contender, hc handoffCase, h []handoffs, why []error, trip spread) {
	t := newTable(w, hc.String(), "p50, us", "p99, us", "hand-offs", "p50 in round trips", "requests per hand-off")
	for i, s := range contenders {
		if why[i] != nil {
			t.notMeasured(s.label(), why[i])
			continue
		}
		took := slices.Sorted(slices.Values(h[i].took))
		p50 := quantile(took, 0.5)
		rounds := spreadOf(h[i].p50)
		t.row(s.label(), fmt.Sprintf("%.0f (%.0f to %.0f)", p50, rounds.low, rounds.high), fmt.Sprintf("%.0f", quantile(took, 0.99)),
			fmt.Sprint(len(took)), fmt.Sprintf("%.1f", p50/trip.median), perOp(h[i].counted.requests, max(1, h[i].grants)))
		if s.ours && hc.apart && hc.waiters == 64 {
			trips := 8.0
			if s.fair {
				trips = 3
			}
			b.add(fmt.Sprintf("hand-off, %s, %s: at p50 within %v round trips", s.name, hc, trips), fmt.Sprintf("%.1f", p50/trip.median), p50 <= trips*trip.median)
		}
	}
}

func (hc handoffCase) String() string {
	if hc.apart {
		return fmt.Sprintf("%d waiters, a client each", hc.waiters)
	}
	return fmt.Sprintf("%d waiters of one client", hc.waiters)
}

// renewalReport writes the table of renewals and adds its bar.
func renewalReport(w io.Writer, b *bars, contenders []contender, locks int, cost []renewalCost, why []error) {
	t := newTable(w, "renewals", "messages per period", "scripts per period", "server busy per period")
	for i, s := range contenders {
		if why[i] != nil {
			t.notMeasured(s.label(), why[i])
			continue
		}
		t.row(s.label(), fmt.Sprintf("%.0f", cost[i].messages), fmt.Sprintf("%.0f", cost[i].scripts), cost[i].server.Round(time.Millisecond/10).String())
		if s.ours {
			fewer := float64(locks) / cost[i].messages
			b.add("renewals, "+s.name+": at least 20x fewer messages than one per lock", fmt.Sprintf("%.0fx", fewer), fewer >= 20)
		}
	}
}
