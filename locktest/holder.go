package locktest

import "github.com/holdfast-go/holdfast/scenarios/locks"

// Holder declares how the key of a lock shows its holder. Use [HolderFirst],
// [HolderLast], [HolderLowest] or [HolderMember] only if the key's time to live is
// the rest of the holder's lease. Otherwise use [HolderNone]: the verdicts then
// depend on the clients alone.
type Holder locks.Holder

// The kinds of Holder besides the default.
const (
	HolderFirst  = Holder(locks.HolderFirst)  // of a list, its first element
	HolderLast   = Holder(locks.HolderLast)   // of a list, its last element
	HolderLowest = Holder(locks.HolderLowest) // of a sorted set, the member with the lowest score
	HolderMember = Holder(locks.HolderMember) // of a set, its only member
	HolderNone   = Holder(locks.HolderNone)   // the key does not tell
)
