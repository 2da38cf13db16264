package keyspace

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// Data has the value of every key of a server at the last look.
type Data map[string]Value

// Update looks at every key of a server whose clock shows now, and returns the
// differences, with Key, Before, After and Now. The keys that are gone come first, then
// the rest, each by key. Data is up to date then, but for keys that [Read] cannot follow;
// the error is about them.
func (d Data) Update(mr *miniredis.Miniredis, now time.Time) ([]Change, error) {
	keys := slices.AppendSeq(mr.Keys(), maps.Keys(d))
	slices.Sort(keys)
	return d.UpdateKeys(mr, now, slices.Compact(keys))
}

// UpdateKeys is Update where no other keys can differ. The keys are sorted, and
// each is there once.
func (d Data) UpdateKeys(mr *miniredis.Miniredis, now time.Time, keys []string) ([]Change, error) {
	var gone, changes []Change
	var errs []error
	for _, k := range keys {
		v, err := Read(mr, k, now)
		switch {
		case err != nil:
			errs = append(errs, err)
		case v.Equal(d[k]):
		case v.Exists():
			changes = append(changes, Change{Key: k, Before: d[k], After: v, Now: now})
			d[k] = v
		default:
			gone = append(gone, Change{Key: k, Before: d[k], Now: now})
			delete(d, k)
		}
	}
	return append(gone, changes...), errors.Join(errs...)
}

// NextExpiry is the earliest moment at which a key runs out, zero for never.
func (d Data) NextExpiry() time.Time {
	var next time.Time
	for _, v := range d { // a minimum: order does not matter
		next = EarlierEnd(next, v.ExpireAt)
	}
	return next
}

// EarlierEnd returns the earlier of two ends. A zero one never comes.
func EarlierEnd(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// LastEntry is the id of the last entry of a stream.
func (d Data) LastEntry(stream string) string {
	if all := d[stream].Entries; len(all) > 0 {
		return all[len(all)-1].ID
	}
	return "0-0"
}
