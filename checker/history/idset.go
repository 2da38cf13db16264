package history

// idSet is a set of operation ids. Ids that count from 1, in about the order
// of their use, take no memory in the long run; others take at most what a map
// of them takes.
type idSet struct {
	full  int64            // every id below 64*full is in the set
	first uint64           // the 64 after them
	words map[int64]uint64 // the others, 64 to a word
}

// newIDSet is the set of 0, which is no id.
func newIDSet() *idSet { return &idSet{first: 1, words: map[int64]uint64{}} }

func (s *idSet) hasID(id int64) bool {
	word := s.first
	switch w := id >> 6; {
	case w < s.full:
		return true
	case w > s.full:
		word = s.words[w]
	}
	return word&(1<<(id&63)) != 0
}

func (s *idSet) addID(id int64) {
	switch w := id >> 6; {
	case w == s.full:
		s.first |= 1 << (id & 63)
	case w > s.full:
		s.words[w] |= 1 << (id & 63)
	}
	for s.first == ^uint64(0) {
		s.full++
		s.first = s.words[s.full]
		delete(s.words, s.full)
	}
}
