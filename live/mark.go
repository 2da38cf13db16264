package live

import (
	"context"
	"time"
)

// mark is where a stream was when it showed a mark.
type mark struct {
	changes int
	at      time.Time
}

// sync waits until the stream has come to what the node executes now. ended
// says that it broke before, attached that there is one. With last, the node
// executes nothing for any client from then on.
func (o *observer) sync(ctx context.Context, last bool) (ended, attached bool, err error) {
	name, seen, broken := o.expect()
	if seen == nil {
		return false, false, nil
	}
	defer o.forget(name)
	o.mu.Lock()
	conn, attached := o.conn, o.attached
	if conn != nil {
		var ask []byte
		if last {
			ask = appendRequest(ask, "CLIENT", "PAUSE", "1000", "ALL")
		}
		conn.SetWriteDeadline(time.Now().Add(limit))
		_, err = conn.Write(appendRequest(ask, "ECHO", name))
	}
	o.mu.Unlock()
	if err != nil { // the stream breaks
		return true, attached, nil
	}
	select {
	case <-seen:
		return false, attached, nil
	case <-broken:
		return true, attached, nil
	case <-ctx.Done():
		return false, attached, ctx.Err()
	}
}

// markPrefix is what all marks begin with.
const markPrefix = "holdfast-mark-"

// expect prepares for a mark; seen is nil when nothing is watched.
func (o *observer) expect() (name string, seen chan mark, broken chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.conn == nil {
		return "", nil, nil
	}
	name, seen = o.truth.newMark(), make(chan mark, 1)
	o.waiting[name] = seen
	return name, seen, o.broken
}

// expected says whether a command shows a mark that the stream is to show, and
// who waits for it, if anybody does.
func (o *observer) expected(command string, args []string) (seen chan mark, ok bool) {
	if command != "ECHO" || len(args) != 2 {
		return nil, false
	}
	seen, ok = o.waiting[args[1]]
	delete(o.waiting, args[1])
	return seen, ok
}

func (o *observer) forget(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.waiting, name)
}
