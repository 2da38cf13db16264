package history

import "testing"

// Which ids were used is known exactly, and ids that count up cost nothing.
func TestIDSet(t *testing.T) {
	counting, odd := newIDSet(), newIDSet()
	for id := int64(1); id <= 100_000; id++ {
		if counting.hasID(id) || odd.hasID(2*id+1) {
			t.Fatalf("%d is there before its time", id)
		}
		counting.addID(id)
		odd.addID(2*id + 1)
		if !counting.hasID(id) || !odd.hasID(2*id+1) || odd.hasID(2*id) {
			t.Fatalf("wrong after %d", id)
		}
	}
	if !counting.hasID(1) || !odd.hasID(3) || odd.hasID(1) {
		t.Error("forgot the first ids")
	}
	if len(counting.words) > 1 {
		t.Errorf("ids that count up take %d words", len(counting.words))
	}
}
