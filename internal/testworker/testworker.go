// Package testworker is a client process for tests. It has the reference lock, or a
// semaphore, and follows the worker protocol or breaks it in one way.
package testworker

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/adapter"
	"github.com/holdfast-go/holdfast/internal/textbook"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// Lock is the worker's name for its lock.
const Lock = "golock"

func description() locks.Description {
	return locks.Description{
		Name: Lock, Version: "1.0", Summary: "the reference lock in a process of its own",
		Claims: history.Claims{
			Waits: true, Cancels: true, Closes: true, Reentrant: true, Lease: true, Explicit: true, Renewal: true,
			LostSign: true, Fencing: true, TakesBack: true, Messages: true,
		},
		RenewEvery: 0.34, HandoffNS: int64(time.Second), Keeps: []string{"holdfast_lock_token:{{name}}"},
	}
}

// Semaphore is the name of the worker's semaphore, which it has with the mistake of the
// same name. The semaphore is right.
const Semaphore = "semaphore"

func semaphore(d *locks.Description) {
	*d = locks.Description{
		Name: Semaphore, Version: "1.0", Summary: "a semaphore of three permits",
		Claims:    history.Claims{Waits: true, Cancels: true, Lease: true, Explicit: true, Permits: 3},
		HandoffNS: int64(100 * time.Millisecond),
	}
}

// Main serves the protocol on the standard streams, with a mistake of [Mistakes],
// and returns the exit status of the process. An empty name means no mistake.
func Main(mistake string) int {
	m, known := mistakes[mistake]
	if !known && mistake != "" {
		fmt.Fprintf(os.Stderr, "unknown mistake %q\n", mistake)
		return 2
	}
	d := description()
	if m.describe != nil {
		m.describe(&d)
	}
	if m.first != "" {
		fmt.Println(m.first)
	}
	fromHarness, in := io.Pipe()
	out, toHarness := io.Pipe()
	go func() {
		relay(os.Stdin, in, m.request)
		in.Close()
	}()
	written := make(chan struct{})
	go func() {
		relay(out, os.Stdout, m.answer)
		close(written)
	}()
	err := adapter.Serve(context.Background(), fromHarness, toHarness, adapter.Program{Locks: []locks.Description{d}, Open: open})
	toHarness.Close()
	<-written
	if m.end != nil {
		m.end()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.status
}

// line is a message in either direction.
type line map[string]any

// relay forwards lines after edit has changed them. It drops a line for which
// edit returns nil.
func relay(from io.Reader, to io.Writer, edit func(line) []line) {
	for in := bufio.NewScanner(from); in.Scan(); {
		var m line
		if err := json.Unmarshal(in.Bytes(), &m); err != nil {
			panic(err)
		}
		all := []line{m}
		if edit != nil {
			all = edit(m)
		}
		for _, m := range all {
			text, err := json.Marshal(m)
			if err == nil {
				_, err = to.Write(append(text, '\n'))
			}
			if err != nil {
				return // the reader is gone
			}
		}
	}
}

func open(h adapter.Hello) (adapter.Lock, error) {
	rdb := h.Redis.Client(1)
	if h.Lock == Semaphore {
		return permits{opened{rdb: rdb, id: h.Process}, textbook.Options{Lease: time.Duration(h.LeaseNS), Permits: 3}}, nil
	}
	poll := h.Redis.Scaled(time.Second)
	if h.PollNS > 0 {
		poll = time.Duration(h.PollNS)
	}
	c, err := lock.New(rdb, lock.WithID(h.Process), lock.WithWatchdogTimeout(time.Duration(h.LeaseNS)), lock.WithSafetyPoll(poll), lock.WithFencing())
	return opened{c, rdb, h.Process}, err
}

// opened is an open reference lock.
type opened struct {
	*lock.Client
	rdb redis.UniversalClient
	id  string
}

func (o opened) Locker(name, thread string) (lock.Locker, error) { return o.NewLock(name, thread), nil }
func (o opened) Identity(thread string) string                   { return o.id + ":" + thread }
func (o opened) Disconnect() error                               { return o.rdb.Close() }

// permits are those of an open semaphore.
type permits struct {
	opened
	options textbook.Options
}

func (p permits) Locker(name, thread string) (lock.Locker, error) {
	return textbook.NewSemaphoreZSet(p.rdb, name, p.Identity(thread), p.options), nil
}
func (p permits) Close() error { return nil }
