package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// settings come with the first order, see docs/adapter-protocol.md.
type settings struct {
	Name     string            `json:"name"`
	Data     string            `json:"data"`
	Client   string            `json:"client"`   // where it is to listen to clients
	Peer     string            `json:"peer"`     // to those that follow
	Peer2    string            `json:"peer2"`    // and to those that vote
	Members  map[string]string `json:"members"`  // where members are reached, by name
	Members2 map[string]string `json:"members2"` // and where for votes
}

// order is a line that a server gets.
type order struct {
	ID     int      `json:"id"`
	Do     string   `json:"do"`
	Server settings `json:"server"` // start
	To     string   `json:"to"`     // lead
	Lock   string   `json:"lock"`   // delete
}

// answer is the line that answers each.
type answer struct {
	ID      int      `json:"id"`
	OK      bool     `json:"ok,omitempty"`
	Error   string   `json:"error,omitempty"`
	Lead    string   `json:"lead,omitempty"` // status: who leads, where that is this member
	Follows bool     `json:"follows,omitempty"`
	Term    uint64   `json:"term,omitempty"`
	Keys    []string `json:"keys,omitempty"`
}

// serve is a member of an ensemble, until its input ends.
func serve(ctx context.Context, in io.Reader, out io.Writer) error {
	lines, answers := json.NewDecoder(bufio.NewReader(in)), json.NewEncoder(out)
	var first order
	if err := lines.Decode(&first); err != nil {
		return fmt.Errorf("read the first order: %w", err)
	}
	if first.Do != "start" {
		return fmt.Errorf("ordered to %s before it is started", first.Do)
	}
	m, err := newMember(first.Server)
	if err == nil {
		started, cancel := context.WithTimeout(ctx, orderLimit)
		defer cancel()
		err = m.start(started)
	}
	if err != nil {
		return errors.Join(err, answers.Encode(answer{ID: first.ID, Error: err.Error()}))
	}
	defer m.stop()
	if err := answers.Encode(answer{ID: first.ID, OK: true}); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- m.obey(ctx, lines, answers) }()
	select {
	case err := <-done:
		return err
	case err := <-m.failed:
		return fmt.Errorf("the server has ended: %w", err)
	case <-ctx.Done():
		return nil
	}
}

// obey carries orders out until there are no more.
func (m *member) obey(ctx context.Context, lines *json.Decoder, answers *json.Encoder) error {
	for {
		var o order
		if err := lines.Decode(&o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read an order: %w", err)
		}
		if err := answers.Encode(m.carryOut(ctx, o)); err != nil {
			return err
		}
	}
}

// orderLimit bounds what an order may take.
const orderLimit = 25 * time.Second

func (m *member) carryOut(ctx context.Context, o order) answer {
	ctx, cancel := context.WithTimeout(ctx, orderLimit)
	defer cancel()
	a := answer{ID: o.ID}
	var err error
	switch o.Do {
	case "status":
		var mode string
		mode, a.Term, err = m.status(ctx)
		switch mode {
		case "leader":
			a.Lead = m.Name
		case "follower":
			a.Follows = true
		}
	case "lead":
		err = m.restart(ctx)
	case "keys":
		a.Keys, err = m.keys()
	case "delete":
		err = m.deleteHolder(o.Lock)
	default:
		err = fmt.Errorf("there is no order %q", o.Do)
	}
	if err != nil {
		return answer{ID: o.ID, Error: err.Error()}
	}
	a.OK = true
	return a
}
