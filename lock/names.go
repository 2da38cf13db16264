package lock

import (
	"errors"
	"fmt"
	"strings"
)

// names are the keys and the channel of one lock. All of them live in the
// lock's own hash slot, as one script uses them together.
type names struct {
	lock    string // the hash itself: owner's field -> hold count
	channel string // where a release is announced
	notes   string // start of the keys that remember requests, one for each owner
	token   string // the last fencing token
	queue   string // of the fair lock
	places  string // of those in the queue

	fairChannel string // start of the channels where clients are told of a hand-off

	redissonToken string // Redisson's counter of them
}

// fairChannelStart begins the channels where clients are told of a hand-off.
const fairChannelStart = "holdfast_fair:"

// note is the key that remembers the last request of an owner.
func (n names) note(field string) string { return n.notes + field }

// newNames derives the keys by Redisson's rule: a plain name is wrapped in
// braces, a name that brings a hash tag of its own is used as it is. Names
// whose braces are no hash tag have no auxiliary key in their slot that
// Redisson would also use, so they are refused.
func newNames(name string) (names, error) {
	if name == "" {
		return names{}, errors.New("lock: the name is empty")
	}
	tagged := name
	if strings.ContainsAny(name, "{}") {
		open := strings.IndexByte(name, '{')
		if open < 0 || strings.IndexByte(name[open+1:], '}') <= 0 {
			return names{}, fmt.Errorf("lock: the braces of %q are no hash tag", name)
		}
	} else {
		tagged = "{" + name + "}"
	}
	return names{
		lock:    name,
		channel: "redisson_lock__channel:" + tagged,
		notes:   "redisson_unlock_latch:" + tagged + ":",
		token:   "holdfast_lock_token:" + tagged,
		queue:   "holdfast_fair_queue:" + tagged,
		places:  "holdfast_fair_places:" + tagged,

		fairChannel: fairChannelStart + tagged + ":",

		redissonToken: "redisson_lock_token:" + tagged,
	}, nil
}

// CheckName says why a lock cannot have a name, or nil. Operations on a lock
// with such a name return the same error.
func CheckName(name string) error {
	_, err := newNames(name)
	return err
}
