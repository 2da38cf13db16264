package subject

import "slices"

// Holder says how the key of a lock tells who holds the lock. Of every kind the
// key has at most one holder, and the time to live of the key is the rest of
// its lease. A lock that keeps either of them otherwise has [HolderNone].
type Holder string

// The kinds of Holder.
const (
	// HolderValue: the key is a string that stands for the owner, or a hash of
	// owners and their counts.
	HolderValue  Holder = ""
	HolderFirst  Holder = "first"  // of a list, its first element
	HolderLast   Holder = "last"   // of a list, its last element
	HolderLowest Holder = "lowest" // of a sorted set, the member with the lowest score
	HolderMember Holder = "member" // of a set, its only member
	// HolderNone: the key does not tell. The lock is judged by what its clients
	// saw alone.
	HolderNone Holder = "none"
)

func (h Holder) known() bool {
	return slices.Contains([]Holder{HolderValue, HolderFirst, HolderLast, HolderLowest, HolderMember, HolderNone}, h)
}

// Holder says how the key of the lock tells who holds it.
func (s *Subject) Holder() Holder {
	if s.ThirdParty == nil {
		return HolderValue
	}
	return s.ThirdParty.Holder
}
