package history

import "testing"

// Which ids were used is known exactly, and ids that count up cost nothing.
func TestIDSet(t *testing.T) {
	counting, odd := newIDSet(), newIDSet()
	for id := int64(1); id <= 100_000; id++ {
		if counting.has(id) || odd.has(2*id+1) {
			t.Fatalf("%d is there before its time", id)
		}
		counting.add(id)
		odd.add(2*id + 1)
		if !counting.has(id) || !odd.has(2*id+1) || odd.has(2*id) {
			t.Fatalf("wrong after %d", id)
		}
	}
	if !counting.has(1) || !odd.has(3) || odd.has(1) {
		t.Error("forgot the first ids")
	}
	if len(counting.words) > 1 {
		t.Errorf("ids that count up take %d words", len(counting.words))
	}
}
