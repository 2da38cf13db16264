package lock

import (
	"errors"
	"fmt"
	"strings"
)

// names are the keys and channels of one lock. All of them are in the lock's
// own hash slot, because one script uses them together.
type names struct {
	lock    string // the hash itself: owner's field -> hold count
	channel string // of release messages
	notes   string // prefix of the keys with the last requests, one for each owner
	token   string // the last fencing token
	queue   string // of the fair lock
	places  string // of the owners in the queue

	fairChannel string // prefix of the clients' channels for hand-offs

	redissonToken string // Redisson's counter of them
}

// fairChannelStart is the prefix of the clients' channels for hand-offs.
const fairChannelStart = "holdfast_fair:"

// note is the key with the last request of an owner.
func (n names) note(field string) string { return n.notes + field }

// newNames derives the keys by Redisson's rule. It wraps a plain name in braces, and uses
// a name with its own hash tag as it is. It refuses a name whose braces are no hash tag,
// because Redisson's auxiliary keys would be in other slots.
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

// CheckName returns nil, or the reason why a lock cannot have this name.
// Operations on a lock with such a name return the same error.
func CheckName(name string) error {
	_, err := newNames(name)
	return err
}
