package gallery

import (
	"strings"

	"github.com/redis/go-redis/v9"
)

// edges are the mistakes that show at the edges of an installation. Most of them are edits
// of scripts.
var edges = openings{
	"one-try-takes-all-the-time": wired(func(Process) *wire { return &wire{endless: true} }),
	"braces-share-a-queue": func(p Process) (Locks, error) {
		return fairLocks(p, fairTake, func(name string) string {
			if open, end := strings.IndexByte(name, '{'), strings.IndexByte(name, '}'); open >= 0 && open < end {
				return name[open+1 : end]
			}
			return name
		}), nil
	},
	"release-needs-all-keys": wired(func(Process) *wire {
		return &wire{after: func(r *request) {
			if r.script == releaseScript && redis.HasErrorPrefix(r.Err(), "TRYAGAIN") {
				r.SetErr(nil)
				r.answer(int64(0))
			}
		}}
	}),
}
