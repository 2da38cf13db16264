package adapter

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
)

// Asked is a request that was sent as it stood, see [Conversation.Ask].
type Asked struct {
	c *Conversation
	k *call
}

// Ask sends a request just as it stands, but for its id. A test sees so how a process
// takes requests that the harness itself never sends. A request for an owner needs "lock"
// and "thread", and what is learnt from its answer is known to the [Locker] of that
// owner.
func (c *Conversation) Ask(fields map[string]any) (*Asked, error) {
	text, err := json.Marshal(fields)
	var r request
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		return nil, c.wrap(fmt.Errorf("encode a request: %w", err))
	}
	var owner *holds
	if r.Lock != "" {
		owner = c.Locker(r.Lock, r.Thread).holds
	}
	k, err := c.sendLine(r, owner, func(id int64) ([]byte, error) {
		numbered := maps.Clone(fields)
		numbered["id"] = id
		return json.Marshal(numbered)
	})
	if err != nil {
		return nil, err
	}
	return &Asked{c, k}, nil
}

func (a *Asked) ID() int64 { return a.k.ID }

// Line awaits the answer and returns it as the process wrote it, whatever it
// says. It is an error when there is none before ctx or the conversation ends.
func (a *Asked) Line(ctx context.Context) ([]byte, error) {
	m, err := a.c.await(ctx, a.k)
	if m.line == nil {
		return nil, err
	}
	return m.line, nil
}

// EndInput closes the standard input of the process. Its later messages are still heard.
func (c *Conversation) EndInput() error {
	if err := c.in.Close(); err != nil {
		return c.wrap(fmt.Errorf("close its standard input: %w", err))
	}
	return nil
}
