package linear

import (
	"testing"
	"time"
)

// Two holds whose leases leave their order open: only the tokens tell it.
func twoShortHolds(first, second uint64) []Op {
	ops := []Op{
		{Owner: 1, Kind: GotLock, Call: 0, Return: 100, Lease: 10, Count: 1, Token: first},
		{Owner: 2, Kind: GotLock, Call: 20, Return: 40, Lease: 10, Count: 1, Token: second},
		{Owner: 3, Kind: FoundBusy, Call: 95, Return: 97, Lease: 10},
	}
	for i := range ops {
		ops[i].ID, ops[i].Asked = int64(i+1), ops[i].Call
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
		{0, 0, OutcomeOK},
		{1, 2, Violated},
		{2, 1, OutcomeOK},
		{3, 3, Violated},
	} {
		ops := twoShortHolds(c.first, c.second)
		if got := Porcupine(ops, Rules{}, time.Minute); got != c.want {
			t.Errorf("tokens %d and %d: porcupine says %s, want %s", c.first, c.second, got, c.want)
		}
		if got := Fast(ops, Rules{}, time.Minute); got.Outcome != c.want {
			t.Errorf("tokens %d and %d: the fast judge says %+v, want %s", c.first, c.second, got, c.want)
		}
		if got := Search(ops, Rules{}, time.Minute); got.Outcome != c.want {
			t.Errorf("tokens %d and %d: the search says %+v, want %s", c.first, c.second, got, c.want)
		}
	}
}

// Where every grant shows a token, leases much shorter than the operations do
// not matter: every history is decided without a search for the order.
func TestTokensDecideShortLeases(t *testing.T) {
	ops := shortLeases(4000)
	start := time.Now()
	if v := Fast(ops, Rules{}, time.Minute); v.Outcome != OutcomeOK {
		t.Fatalf("got %+v", v)
	}
	t.Logf("%d operations in %s", len(ops), time.Since(start))
	ops[1200].Token, ops[1300].Token = ops[1300].Token, ops[1200].Token
	if v := Fast(ops, Rules{}, time.Minute); v.Outcome != Violated {
		t.Fatalf("two grants far apart with their tokens exchanged: got %+v", v)
	}
}

// shortLeases is a history of grants that end by their leases only, each of
// which lasts a fraction of the operation that asked for it.
func shortLeases(n int) []Op {
	const lease, owners = 5, 20
	ops := make([]Op, n)
	for i := range ops {
		at := int64(i) * 2 * lease
		ops[i] = Op{
			ID: int64(i + 1), Owner: int32(i%owners + 1), Kind: GotLock, Count: 1,
			Call: at - 8*lease, Return: at + 8*lease, Asked: at - 8*lease, Lease: lease, Token: uint64(i + 1),
		}
	}
	return ops
}
