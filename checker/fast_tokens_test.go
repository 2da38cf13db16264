package checker

import (
	"testing"
	"time"
)

// Two holds whose leases leave their order open: only the tokens tell it.
func twoShortHolds(first, second uint64) []lockOp {
	ops := []lockOp{
		{owner: 1, kind: gotLock, call: 0, ret: 100, lease: 10, count: 1, token: first},
		{owner: 2, kind: gotLock, call: 20, ret: 40, lease: 10, count: 1, token: second},
		{owner: 3, kind: foundBusy, call: 95, ret: 97, lease: 10},
	}
	for i := range ops {
		ops[i].id, ops[i].asked = int64(i+1), ops[i].call
	}
	return ops
}

// Tokens decide what leases leave open, in every judge alike. Without them the
// refusal at the end is due to the first owner; with them that one had let go.
func TestTokensGiveTheOrder(t *testing.T) {
	for _, c := range []struct {
		first, second uint64
		want          Outcome
	}{
		{0, 0, Good},
		{1, 2, Violated},
		{2, 1, Good},
		{3, 3, Violated},
	} {
		ops := twoShortHolds(c.first, c.second)
		if got := byPorcupine(ops, rules{}, time.Minute); got != c.want {
			t.Errorf("tokens %d and %d: porcupine says %s, want %s", c.first, c.second, got, c.want)
		}
		if got := fastRuling(ops, rules{}, time.Minute); got.outcome != c.want {
			t.Errorf("tokens %d and %d: the fast judge says %+v, want %s", c.first, c.second, got, c.want)
		}
		if got := bySearch(ops, rules{}, time.Minute); got.outcome != c.want {
			t.Errorf("tokens %d and %d: the search says %+v, want %s", c.first, c.second, got, c.want)
		}
	}
}

// Where every grant shows a token, leases much shorter than the operations do
// not matter: every history is decided without a search for the order.
func TestTokensDecideShortLeases(t *testing.T) {
	ops := shortLeases(4000)
	start := time.Now()
	if v := fastRuling(ops, rules{}, time.Minute); v.outcome != Good {
		t.Fatalf("got %+v", v)
	}
	t.Logf("%d operations in %s", len(ops), time.Since(start))
	ops[1200].token, ops[1300].token = ops[1300].token, ops[1200].token
	if v := fastRuling(ops, rules{}, time.Minute); v.outcome != Violated {
		t.Fatalf("two grants far apart with their tokens exchanged: got %+v", v)
	}
}

// shortLeases is a history of grants that end by their leases only, each of
// which lasts a fraction of the operation that asked for it.
func shortLeases(n int) []lockOp {
	const lease, owners = 5, 20
	ops := make([]lockOp, n)
	for i := range ops {
		at := int64(i) * 2 * lease
		ops[i] = lockOp{
			id: int64(i + 1), owner: int32(i%owners + 1), kind: gotLock, count: 1,
			call: at - 8*lease, ret: at + 8*lease, asked: at - 8*lease, lease: lease, token: uint64(i + 1),
		}
	}
	return ops
}
