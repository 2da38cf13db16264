package keyspace

import (
	"maps"
	"slices"
	"time"
)

// View shows the keys of one lock on one server at one moment. It is read-only.
type View struct {
	// Name is the name of the lock.
	Name string
	// Now is the time by the clock of the server.
	Now  time.Time
	keys map[string]Value
}

func NewView(name string, now time.Time, keys map[string]Value) View {
	return View{Name: name, Now: now, keys: keys}
}

// Keys are the keys of the lock that exist, sorted.
func (v View) Keys() []string { return slices.Sorted(maps.Keys(v.keys)) }

// Text is the value of a string, "" without one.
func (v View) Text(key string) string { return v.keys[key].Str }

// Hash is a copy of a hash, nil without one.
func (v View) Hash(key string) map[string]string { return maps.Clone(v.keys[key].Hash) }

// Items are the elements of a list, first to last; the members of a set, sorted; or
// those of a sorted set, lowest score first.
func (v View) Items(key string) []string { return slices.Clone(v.keys[key].Items) }

// Score is the score of a member of a sorted set; 0 without that member.
func (v View) Score(key, member string) float64 {
	i := slices.Index(v.keys[key].Items, member)
	if i < 0 || i >= len(v.keys[key].Scores) {
		return 0
	}
	score, err := parseScore(v.keys[key].Scores[i])
	if err != nil {
		return 0 // Read has formatted it from a number
	}
	return score
}

// End is the moment at which a key expires, by the clock of the server; zero for never.
func (v View) End(key string) time.Time { return v.keys[key].ExpireAt }

type Hold struct {
	// Owner is the value that stands for the owner.
	Owner string
	// Shared says that it is the hold of a reader, who may have a hold as a writer as well.
	Shared bool
	// Count is the number of holds of the owner, or of its permits; 0 means 1.
	Count int
	// End is the end of the lease by the clock of the server; zero for none.
	End time.Time
}
