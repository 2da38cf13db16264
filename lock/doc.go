// Package lock is a distributed lock on Redis, and the contract of such a lock.
//
// [Client.Do] and [Client.Acquire] take a lock for one call: each call is an owner, and
// excludes every other. [Client.NewLock] takes the same lock for a named owner, and is
// reentrant. In both cases a watchdog renews the lock while it is held, and waiters wait
// for a message instead of polling. The holder is notified when the lock is lost. The
// keys have the wire format of Redisson's RLock, so a Go service and a Java service can
// share a lock. [NewMultiLock] and [NewRedLock] combine locks on independent servers.
//
// # Limits
//
// A holder that is paused past its lease learns of the loss too late, with this
// lock as with every lock that has a lease. Guard the resource with the fencing
// token ([WithFencing]) if that matters.
//
// The lock cannot take back a request that has not arrived yet. If the network delays an
// acquire until its owner has given up and the server has forgotten the owner, the
// acquire takes a free lock. Then no owner can use the lock for one lease. Nothing renews
// it. The same can happen to one server of a [NewRedLock].
//
// # Protocol
//
// A lock is a hash. The field "<client id>:<owner>" has the count of its holds, as in
// Redisson. Two fields are ours: "hold" has the id of the hold, and "last" the serial of
// the owner's last request that changed something. The release of the last hold deletes
// the key, and publishes to the channel of the lock.
//
// A serial grows with each request of a client. It starts from the clock, so it also grows
// when a process with the same id starts again. The id of a hold is the serial of the
// acquire that began it. So the server can tell for every request, however late it comes:
//
//	serial == last   the same request once more: the same answer, no effect
//	serial <  last   a request that a later one has overruled: no effect
//	another hold     a request about a hold that is over: no effect
//
// A free lock has no hash to say this. A give-back therefore leaves a note, a key of its
// owner with the serial, for half a minute, also when the hold was over. An acquire reads
// the note when the lock is free, and does nothing if its own serial is smaller.
//
// Counts in requests are absolute: "you have it twice then", not "once more". So the
// client may repeat a request until it is answered, each time on another connection. And
// an owner need not wait for the outcome of one request before it sends the next.
//
// These are the states of an owner:
//
//	         acquire granted                  release answered
//	free ───────────────────────▶ held n ───────────────────────▶ free
//	 │                             │  ▲ │
//	 │ acquire without an answer   │  └─┘ nested acquire: n+1, release: n-1
//	 ▼                             │
//	taking back ──▶ free           ├─ release without an answer ──▶ giving back ──▶ free
//	                               └─ lease over, or hold gone ───▶ lost ── told ──▶ free
//
// "Taking back" and "giving back" are one request, a give-back. It goes on in the
// background until a server answers, the lease is over, or the owner's next acquire
// overrules it.
//
// A hold has one lease. An acquire within it and an extension may raise the lease. Nothing
// lowers it. The owner counts it from the send of the request, and ends it 1% and 2ms
// early. The server ends it by itself.
//
// A fair lock hands a free lock to the first waiter in its queue, within the script that
// frees it. The place of a waiter is then its hold, with the serial of the request that
// kept the place as its id. See [FairLock].
package lock
