package history

// idSet is a set of operation ids. Ids that count from 1, in about the order
// of their use, take no memory in the long run; others take at most what a map
// of them takes.
type idSet struct {
	full  int64            // every id below 64*full is in the set
	words map[int64]uint64 // the others, 64 to a word
}

// newIDSet is the set of 0, which is no id.
func newIDSet() *idSet { return &idSet{words: map[int64]uint64{0: 1}} }

func (s *idSet) has(id int64) bool {
	w := id >> 6
	return w < s.full || s.words[w]&(1<<(id&63)) != 0
}

func (s *idSet) add(id int64) {
	if w := id >> 6; w >= s.full {
		s.words[w] |= 1 << (id & 63)
	}
	for s.words[s.full] == ^uint64(0) {
		delete(s.words, s.full)
		s.full++
	}
}
