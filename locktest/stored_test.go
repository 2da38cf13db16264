package locktest

import (
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/locktest/testdata/locks/stored"
)

// storedIn makes a lock that has its hold in a place, where holds finds it.
func storedIn(name string, place stored.Place, keys []string, hold func(View) (value string, end time.Time)) func(mistake string) Lock {
	return func(mistake string) Lock {
		return Lock{
			Name: name, Claims: Claims{Waits: true, Lease: true}, StoresOwner: true, Handoff: stored.Poll, Reaches: reached, Keys: keys, Keeps: keys,
			Busy: stored.ErrTaken, NotHeld: stored.ErrNotHeld, Classify: unclear(stored.ErrUnclear),
			Holders: func(v View) []Hold {
				value, end := hold(v)
				owner, _, isAttempt := strings.Cut(value, "#")
				if !isAttempt {
					return nil
				}
				return []Hold{{Owner: owner, End: end}}
			},
			Open: onItsOwn(func(c *Client, on []*redis.Client, name, owner string) lock.Locker {
				m := &stored.Mutex{Redis: on[0], Name: name, Owner: owner, Lease: c.Lease, Place: place, Mistake: mistake}
				return &Funcs{Acquire: m.Lock, Release: m.Unlock, Until: m.Until}
			}),
		}
	}
}

// The locks of package stored.
var (
	packedLock = storedIn("packed", stored.Packed, nil, func(v View) (string, time.Time) { return unpack(v.Text(v.Name)) })
	singleton  = storedIn("set", stored.Single, nil, func(v View) (string, time.Time) {
		return strings.Join(v.Items(v.Name), ","), v.End(v.Name)
	})
	scoredLock = storedIn("scored", stored.Scored, nil, func(v View) (string, time.Time) {
		if all := v.Items(v.Name); len(all) > 0 {
			return all[0], time.UnixMilli(int64(v.Score(v.Name, all[0])))
		}
		return "", time.Time{}
	})
	pairLock = storedIn("pair", stored.Pair, []string{"{name}:alive"}, func(v View) (string, time.Time) {
		if v.Text(v.Name+":alive") == "" {
			return "", time.Time{}
		}
		return v.Text(v.Name), v.End(v.Name + ":alive")
	})
	listedLock = storedIn("registry", stored.Listed, []string{stored.Registry}, func(v View) (string, time.Time) {
		return unpack(v.Hash(stored.Registry)[v.Name])
	})
	scheduledLock = storedIn("agenda", stored.Scheduled, []string{stored.Agenda, stored.Owners}, func(v View) (string, time.Time) {
		return v.Hash(stored.Owners)[v.Name], time.UnixMilli(int64(v.Score(stored.Agenda, v.Name)))
	})
	journalLock = storedIn("journal", stored.Journal, nil, func(v View) (string, time.Time) {
		if all := v.Items(v.Name); len(all) > 0 {
			return unpack(all[0])
		}
		return "", time.Time{}
	})
)

// unpack reads "value end".
func unpack(text string) (value string, end time.Time) {
	value, ends, _ := strings.Cut(text, " ")
	ms, err := strconv.ParseInt(ends, 10, 64)
	if err != nil {
		return "", time.Time{}
	}
	return value, time.UnixMilli(ms)
}
