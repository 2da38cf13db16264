package locktest

import "github.com/holdfast-go/holdfast/subject"

// Holder declares how the key of a lock shows its holder. Use [HolderFirst],
// [HolderLast], [HolderLowest] or [HolderMember] only if the key's time to live is
// the rest of the holder's lease. Otherwise use [HolderNone]: the verdicts then
// depend on the clients alone.
type Holder subject.Holder

// The kinds of Holder besides the default.
const (
	HolderFirst  = Holder(subject.HolderFirst)  // of a list, its first element
	HolderLast   = Holder(subject.HolderLast)   // of a list, its last element
	HolderLowest = Holder(subject.HolderLowest) // of a sorted set, the member with the lowest score
	HolderMember = Holder(subject.HolderMember) // of a set, its only member
	HolderNone   = Holder(subject.HolderNone)   // the key does not tell
)
