package faults

import (
	"bytes"
	"strings"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"
)

// SlowSubscribe is a toxic for the way from client to server. It hands every
// SUBSCRIBE, PSUBSCRIBE and SSUBSCRIBE on By later; what the same connection
// sends after it waits behind it.
type SlowSubscribe struct {
	By time.Duration
	queueing
}

// Pipe implements [toxics.Toxic].
func (s *SlowSubscribe) Pipe(stub *toxics.ToxicStub) {
	s.pipe(stub, func() *queue {
		frames := splitter{decide: isSubscribe}
		var last time.Time
		return &queue{
			admit: func(c *stream.StreamChunk, now time.Time) []queued {
				if now.After(last) {
					last = now
				}
				if c == nil {
					return ended(frames.rest(), last)
				}
				var out []queued
				for _, p := range frames.split(c.Data) {
					if due := now.Add(s.By); p.taken && due.After(last) {
						last = due
					}
					out = append(out, queued{&stream.StreamChunk{Data: p.data, Timestamp: c.Timestamp}, last})
				}
				return out
			},
			rest: frames.rest,
		}
	})
}

// isSubscribe decides by the head of a command, "*2 $9 SUBSCRIBE".
func isSubscribe(head []byte) verdict {
	if head[0] != '*' {
		return keep
	}
	lines := bytes.SplitN(head, []byte("\r\n"), 4)
	if len(lines) < 4 {
		if len(head) > 64 {
			return keep // longer than the head of any subscription
		}
		return undecided
	}
	switch strings.ToUpper(string(lines[2])) {
	case "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE":
		return take
	}
	return keep
}
