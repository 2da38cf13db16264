package play

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// A judge must not take two holds of one owner for one, or the end of one for the end of
// both. It would accuse a right semaphore of a free place that is taken, or of an early end.
func TestHoldsOfOneOwnerAreOne(t *testing.T) {
	now := time.Unix(100, 0)
	for _, c := range []struct {
		name    string
		changes string // from>to of each; an identity begins with its owner, and ends with count and seconds
		want    []string
	}{
		{"of several owners", ">a1:1:9 >b1:1:5 a1:1:9>", []string{
			" 0 0s > a 1 9s", " 0 0s > b 1 5s", "a 1 9s >  0 0s",
		}},
		{"asked again", ">a1:1:9 >a2:2:12 a1:1:9> a2:2:12>", []string{
			" 0 0s > a 1 9s", "a 1 9s > a 3 12s", "a 3 12s > a 2 12s", "a 2 12s >  0 0s",
		}},
		{"without an end", ">a1:1:0 >a2:1:5", []string{" 0 0s > a 1 -1ns", "a 1 -1ns > a 2 -1ns"}},
		{"another value", ">a1:1:5 a1:1:5>a2:1:9", []string{" 0 0s > a 1 5s", "a 1 5s > a 1 9s"}},
		{"handed on", ">a1:1:5 a1:1:5>b1:1:9", []string{" 0 0s > a 1 5s", "a 1 5s > b 1 9s"}},
		{"one of two handed on", ">a1:1:5 >a2:1:7 a2:1:7>b1:1:9", []string{
			" 0 0s > a 1 5s", "a 1 5s > a 2 7s", "a 2 7s > a 1 5s", " 0 0s > b 1 9s",
		}},
		{"from before the run", "a1:1:5>", []string{"a 1 5s >  0 0s"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			behind := map[*history.ServerEvent]readChange{}
			events := []history.Event{{Kind: history.Invoke}}
			for change := range strings.FieldsSeq(c.changes) {
				was, is, _ := strings.Cut(change, ">")
				x := readChange{holdChange{"stock", holdFrom(was, now), holdFrom(is, now)}, now}
				s := &history.ServerEvent{Node: "node-1", WasHolder: was[:min(len(was), 1)], Holder: is[:min(len(is), 1)]}
				behind[s] = x
				events = append(events, history.Event{Kind: history.Server, Lock: "stock", Server: s})
			}
			var got []string
			for _, e := range joinHolds(events, behind)[1:] {
				s := e.Server
				got = append(got, fmt.Sprintf("%s %d %s > %s %d %s", s.WasHolder, s.WasCount, time.Duration(s.WasTTL), s.Holder, s.Count, time.Duration(s.TTL)))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Each of two holds of one owner ends by itself, though nothing changes the key then. A
// judge would take the release of the first one, which was over, for one that succeeded.
func TestEachHoldOfAnOwnerEnds(t *testing.T) {
	start := time.Unix(100, 0)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	l := &locks.Lock{Holders: func(keyspace.View) []keyspace.Hold {
		return []keyspace.Hold{{Owner: "a", End: at(5)}, {Owner: "a", End: at(9)}}
	}}
	l.Claims.Permits = 2
	h := newHolds(l, []string{"stock"})
	key := keyspace.Value{Type: "zset", Items: []string{"a#1", "a#2"}}
	changes := h.follow(keyspace.Change{Node: "node-1", Key: "stock", After: key, Now: start})
	for _, end := range []int{5, 9} {
		next := h.ends["node-1"]
		if !next.Equal(at(end)) {
			t.Fatalf("the next end is %v, want %v", next, at(end))
		}
		changes = append(changes, h.follow(keyspace.Change{Node: "node-1", Now: next})...)
	}
	var counts []int64
	for _, c := range changes {
		counts = append(counts, int64(c.is.Count))
	}
	if diff := cmp.Diff([]int64{2, 1, 0}, counts); diff != "" {
		t.Error(diff)
	}
}

func holdFrom(words string, now time.Time) (x keyspace.Hold) {
	parts := strings.Split(words, ":")
	if len(parts) < 3 {
		return x
	}
	x.Owner = parts[0]
	var seconds int
	fmt.Sscan(parts[1], &x.Count)
	fmt.Sscan(parts[2], &seconds)
	if seconds > 0 {
		x.End = now.Add(time.Duration(seconds) * time.Second)
	}
	return x
}
