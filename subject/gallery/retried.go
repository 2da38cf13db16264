package gallery

import (
	"context"

	"github.com/holdfast-go/holdfast/lock"
)

// retried are the mistakes about requests that arrive twice: an acquire that
// counts twice, and a release that is told off the second time.
func retried() []Mutant {
	// A lock that says by how much, and not what the count is to be.
	const (
		oneMore = "redis.call('hincrby', KEYS[1], ARGV[2], 1)"
		oneLess = "count = redis.call('hincrby', KEYS[1], ARGV[2], -1)"
	)
	forgets := edit{acquireScript, "local again = serial == ARGV[3]", "local again = false"}
	return []Mutant{
		edited(Mutant{
			Name: "nested-acquire-forgets-request", Of: "reentrant", Class: 1,
			Mistake: "An acquire does not look whether the server has seen it before, so a nested one that is sent twice counts twice.",
			Shipped: "Redisson 3.52 on replicated servers (#7367, #6025); every reentrant lock on go-redis that leaves its three retries on (go-redis #2985)",
		}, forgets, edit{acquireScript, nestedCount, oneMore}, edit{releaseScript, innerCount, oneLess}),
		edited(Mutant{
			Name: "retried-acquire-counts-two", Of: "reentrant", Class: 1,
			Mistake: "The second sending of a first acquire takes the reentrant branch: one call, two holds.",
			Shipped: "Redisson 3.52 (#7367): one unlock left a hold that the watchdog kept alive for ever",
		}, forgets, edit{acquireScript, "  if first then", "  if not held then"},
			edit{acquireScript, nestedCount, oneMore}, edit{releaseScript, innerCount, oneLess}),
		wired(Mutant{
			Name: "unconfirmed-acquire-kept", Of: "reentrant-wait", Class: 1,
			Mistake: "An acquire that too few replicas confirmed is reported as failed and not taken back.",
			Shipped: "Redisson up to 3.20 (#4822, #4706): the count climbed to 41 and the lock was stuck on one node",
		}, dropCancel),
		edited(Mutant{
			Name: "release-forgets-request", Of: "reentrant", Class: 2,
			Mistake: "A release does not look whether the server has seen it before: the second sending finds nothing to release.",
			Shipped: "Redisson before 3.24.1 (#4871): IllegalMonitorStateException for an unlock that had worked",
		}, edit{releaseScript, "if serial == ARGV[3] then", "if false then"}),
		edited(Mutant{
			Name: "release-notes-wrong-request", Of: "reentrant", Class: 2,
			Mistake: "A release is remembered under another id than the one that its second sending looks for.",
			Shipped: "Redisson before 3.52 made a new request id for each retry (#6651), and 4.3 took the wrong variable for it (#6844)",
		}, edit{releaseScript, "redis.call('set', KEYS[3],", "redis.call('set', KEYS[3] .. ':id',"}),
		edited(Mutant{
			Name: "release-note-never-expires", Of: "reentrant", Class: 2,
			Mistake: "The note that a request was carried out has no expiry: one key for every release stays behind.",
			Shipped: "Redisson before 4.3 deleted another key than the latch it had made (#6844)",
		}, edit{releaseScript, ", 'px', lasts + ARGV[7])", ")"}),
		faced(Mutant{
			Name: "second-release-refused", Of: "set-px-watch", Class: 2,
			Mistake: "A release without an answer is reported as not held, as if the server had refused it.",
			Shipped: "Redisson before 3.24.1 (#4871); Curator forgets its own hold when the release fails in transport (CURATOR-678)",
		}, every(func(f *face) {
			f.unlock = func(ctx context.Context) (int, error) {
				n, err := f.base.Unlock(ctx)
				return n, as(err, isUnknown, lock.ErrNotHeld)
			}
		})),
	}
}

// dropCancel is a wire on which no acquire is taken back.
func dropCancel(Process) *wire {
	return &wire{before: func(_ context.Context, r *request) bool {
		return r.script != cancelScript || r.answer([]any{"none"})
	}}
}
