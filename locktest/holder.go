package locktest

import "github.com/holdfast-go/holdfast/subject"

// Holder says how the key of a lock tells who holds it. Declare one of
// HolderFirst, HolderLast, HolderLowest and HolderMember only where the key's
// time to live is the rest of the holder's lease. Otherwise say HolderNone: the
// lock is then judged by what its clients saw alone.
type Holder subject.Holder

// The kinds of Holder besides the default.
const (
	HolderFirst  = Holder(subject.HolderFirst)  // of a list, its first element
	HolderLast   = Holder(subject.HolderLast)   // of a list, its last element
	HolderLowest = Holder(subject.HolderLowest) // of a sorted set, the member with the lowest score
	HolderMember = Holder(subject.HolderMember) // of a set, its only member
	HolderNone   = Holder(subject.HolderNone)   // the key does not tell
)
