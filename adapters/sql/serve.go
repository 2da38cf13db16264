package main

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"syscall"
	"time"

	"github.com/holdfast-go/holdfast/live/processes"
)

// settings come with the first order, see docs/adapter-protocol.md.
type settings struct {
	Name    string            `json:"name"`
	Data    string            `json:"data"`
	Client  string            `json:"client"`  // where it is to listen
	Members map[string]string `json:"members"` // where members are reached, by name
	Lead    string            `json:"lead"`    // who leads
}

// order is a line that a server gets.
type order struct {
	ID     int      `json:"id"`
	Do     string   `json:"do"`
	Server settings `json:"server"` // start
	To     string   `json:"to"`     // lead, follow
	Lock   string   `json:"lock"`   // delete
}

// answer is the line that answers each.
type answer struct {
	ID    int      `json:"id"`
	OK    bool     `json:"ok,omitempty"`
	Error string   `json:"error,omitempty"`
	Keys  []string `json:"keys,omitempty"`
}

// server is a member: a primary, or the replica of one.
type server interface {
	// start starts it; it follows whoever leads, unless it leads itself.
	start(ctx context.Context) error
	// promote lets a replica lead, with what has reached it.
	promote(ctx context.Context) error
	// follow makes it a replica of another member, with what that has.
	follow(ctx context.Context, leader string) error
	// retire stops a leader when another member has all that it has.
	retire(ctx context.Context, heir string) error
	// keys are what locks have left behind.
	keys(ctx context.Context) ([]string, error)
	// free ends the hold of whoever has a lock.
	free(ctx context.Context, name string) error
	// stop ends it.
	stop()
	// failed is where the end of its process is told that nobody asked for.
	failed() <-chan error
}

// member is what the servers of both databases have: the data of one directory.
type member struct {
	settings
	dir   string
	leads string // whom it follows; itself where it leads
	proc  *processes.Program
	db    *sql.DB
	fails chan error
}

func newMember(s settings, folder string, db *sql.DB) member {
	dir, err := filepath.Abs(filepath.Join(s.Data, folder))
	if err != nil {
		dir = filepath.Join(s.Data, folder)
	}
	return member{settings: s, dir: dir, db: db, fails: make(chan error, 1)}
}

func (m *member) failed() <-chan error { return m.fails }

// end ends its process with a signal.
func (m *member) end(sig syscall.Signal) {
	m.proc.End(sig)
	m.db.Close()
}

// serve is a member, until its input ends.
func serve(ctx context.Context, in io.Reader, out io.Writer, open func(settings) server) error {
	lines, answers := json.NewDecoder(bufio.NewReader(in)), json.NewEncoder(out)
	var first order
	if err := lines.Decode(&first); err != nil {
		return fmt.Errorf("read the first order: %w", err)
	}
	if first.Do != "start" {
		return fmt.Errorf("ordered to %s before it is started", first.Do)
	}
	s := open(first.Server)
	defer s.stop()
	started, cancel := context.WithTimeout(ctx, orderLimit)
	defer cancel()
	if err := s.start(started); err != nil {
		return errors.Join(err, answers.Encode(answer{ID: first.ID, Error: err.Error()}))
	}
	if err := answers.Encode(answer{ID: first.ID, OK: true}); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- obey(ctx, s, lines, answers) }()
	select {
	case err := <-done:
		return err
	case err := <-s.failed():
		return fmt.Errorf("the server has ended: %w", err)
	case <-ctx.Done():
		return nil
	}
}

// obey carries orders out until there are no more.
func obey(ctx context.Context, s server, lines *json.Decoder, answers *json.Encoder) error {
	for {
		var o order
		if err := lines.Decode(&o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read an order: %w", err)
		}
		if err := answers.Encode(carryOut(ctx, s, o)); err != nil {
			return err
		}
	}
}

// orderLimit bounds what an order may take.
const orderLimit = 25 * time.Second

func carryOut(ctx context.Context, s server, o order) answer {
	ctx, cancel := context.WithTimeout(ctx, orderLimit)
	defer cancel()
	a := answer{ID: o.ID}
	var err error
	switch o.Do {
	case "promote":
		err = s.promote(ctx)
	case "follow":
		err = s.follow(ctx, o.To)
	case "lead":
		err = s.retire(ctx, o.To)
	case "keys":
		a.Keys, err = s.keys(ctx)
	case "delete":
		err = s.free(ctx, o.Lock)
	default:
		err = fmt.Errorf("there is no order %q", o.Do)
	}
	if err != nil {
		return answer{ID: o.ID, Error: fmt.Sprintf("%s: %v", o.Do, err)}
	}
	a.OK = true
	return a
}
