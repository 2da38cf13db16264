package play

import "testing"

// The calls of a lock may be owners with a number of their own. Each is the same owner
// with another number, also when the server has handed the lock on, and its client never
// came to store it.
func TestAnIdentityMayEndWithANumber(t *testing.T) {
	o := &owners{name: map[string]string{}, told: map[string]bool{}}
	o.name["client-2/1::"], o.told["client-2/1::"] = "client-2/1", true
	for identity, want := range map[string]string{
		"client-2/1::1":  "client-2/1",
		"client-2/1::22": "client-2/1",
		"client-3/1::1":  "client-3/1::1",
		"client-2/1":     "client-2/1",
		"somebody":       "somebody",
	} {
		if got := o.nameOf("stock", identity); got != want {
			t.Errorf("%s is %s's, want %s", identity, got, want)
		}
	}
}
