package bundled

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Server is a member of the servers that a lock brings along. A server gets one
// order at a time, except that Stop may come at any time after Start has begun.
type Server interface {
	// Start returns when the server serves, after it has joined the others.
	Start(ctx context.Context) error
	// HandOver gives the lead to another member. For a server that is promoted by name,
	// it returns when that member has all data, and this one takes no more writes.
	HandOver(ctx context.Context, to string) error
	// Keys lists what locks have left behind.
	Keys(ctx context.Context) ([]string, error)
	// Delete ends the hold of a lock's holder, as an operator would.
	Delete(ctx context.Context, lock string) error
	// Failed yields the reason for an end of the server that was not requested.
	Failed() <-chan error
	// Stop ends the server and all its processes.
	Stop()
}

// Electing is a server that elects a leader with the other members.
type Electing interface {
	Server
	// Leadership names the leader, as far as this member sees.
	Leadership(ctx context.Context) (Leadership, error)
}

// Promoted is a server that leads when an operator says so.
type Promoted interface {
	Server
	// Promote makes the server lead, with what has reached it.
	Promote(ctx context.Context) error
	// Follow makes the server a replica of another one. It drops what that one
	// does not have.
	Follow(ctx context.Context, leader string) error
}

const orderLimit = 25 * time.Second

// serve opens a server with the settings of the first order, and carries out
// orders until in or ctx ends, which returns nil. It returns an error when the
// server does not start, when it fails, or when in holds something that is no order.
// Nothing else may write to out.
func serve(ctx context.Context, in io.Reader, out io.Writer, open func(Settings) (Server, error)) error {
	orders, answers := json.NewDecoder(bufio.NewReader(in)), json.NewEncoder(out)
	var first Order
	if err := orders.Decode(&first); err != nil {
		return fmt.Errorf("read the first order: %w", err)
	}
	if first.Do != Start || first.Server == nil {
		return fmt.Errorf("the first order is %q, and must be %q with the settings of a server", first.Do, Start)
	}
	s, err := open(*first.Server)
	if err == nil {
		defer s.Stop()
		err = within(ctx, s.Start)
	}
	if err != nil {
		return errors.Join(err, answers.Encode(Answer{ID: first.ID, Error: err.Error()}))
	}
	if err := answers.Encode(Answer{ID: first.ID, OK: true}); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- obey(ctx, s, orders, answers) }()
	select {
	case err := <-done:
		return err
	case err := <-s.Failed():
		return fmt.Errorf("the server has ended: %w", err)
	case <-ctx.Done():
		return nil
	}
}

func within(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, orderLimit)
	defer cancel()
	return f(ctx)
}

func obey(ctx context.Context, s Server, orders *json.Decoder, answers *json.Encoder) error {
	for {
		var o Order
		if err := orders.Decode(&o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read an order: %w", err)
		}
		a := Answer{ID: o.ID, OK: true}
		err := within(ctx, func(ctx context.Context) error { return a.carryOut(ctx, s, o) })
		if err != nil {
			a = Answer{ID: o.ID, Error: fmt.Sprintf("%s: %v", o.Do, err)}
		}
		if err := answers.Encode(a); err != nil {
			return err
		}
	}
}

func (a *Answer) carryOut(ctx context.Context, s Server, o Order) (err error) {
	elects, _ := s.(Electing)
	promoted, _ := s.(Promoted)
	switch {
	case o.Do == Lead:
		return s.HandOver(ctx, o.To)
	case o.Do == Keys:
		a.Keys, err = s.Keys(ctx)
		return err
	case o.Do == Delete:
		return s.Delete(ctx, o.Lock)
	case o.Do == Status && elects != nil:
		a.Leadership, err = elects.Leadership(ctx)
		return err
	case o.Do == Promote && promoted != nil:
		return promoted.Promote(ctx)
	case o.Do == Follow && promoted != nil:
		return promoted.Follow(ctx, o.To)
	}
	return errors.New("this server has no such order")
}
