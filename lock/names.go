package lock

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// names are the keys and channels of one lock. All of them are in the lock's own hash
// slot, because one script uses them together. Redisson shares the lock, its channel and
// its token. The others are ours, and no two locks have one of them in common.
type names struct {
	lock          string // the hash itself; see acquire.lua
	channel       string // of release messages
	redissonToken string // Redisson's counter of fencing tokens
	token         string // the last fencing token
	notes         string // prefix of the owners' notes; see note
	queue         string // of the fair lock
	places        string // of the owners in the queue
	fairChannel   string // prefix of the clients' channels for hand-offs
}

// fairChannelStart is the prefix of the clients' channels for hand-offs.
const fairChannelStart = "holdfast_fair:"

// note is the key that remembers the last request of an owner without a hold.
func (n names) note(field string) string { return n.notes + field }

// newNames derives the keys by Redisson's rule. It wraps a plain name in braces, and uses
// a name with its own hash tag as it is. It refuses a name whose braces are no hash tag,
// because Redisson's auxiliary keys would be in other slots.
func newNames(name string) (names, error) {
	if name == "" {
		return names{}, errors.New("lock: the name is empty")
	}
	tagged := "{" + name + "}"
	own := tagged
	if strings.ContainsAny(name, "{}") {
		open := strings.IndexByte(name, '{')
		if open < 0 || strings.IndexByte(name[open+1:], '}') <= 0 {
			return names{}, fmt.Errorf("lock: the braces of %q are no hash tag", name)
		}
		tagged = name
		own = ":" + strconv.Itoa(len(name)) + ":" + name // a plain name never begins so
	}
	return names{
		lock:          name,
		channel:       "redisson_lock__channel:" + tagged,
		redissonToken: "redisson_lock_token:" + tagged,
		token:         "holdfast_lock_token:" + own,
		notes:         "holdfast_lock_note:" + own + ":",
		queue:         "holdfast_fair_queue:" + own,
		places:        "holdfast_fair_places:" + own,
		fairChannel:   fairChannelStart + own + ":",
	}, nil
}

// CheckName returns nil, or the reason why a lock cannot have this name.
// Operations on a lock with such a name return the same error.
func CheckName(name string) error {
	_, err := newNames(name)
	return err
}
