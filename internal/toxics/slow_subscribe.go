package toxics

import (
	"strings"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"

	"github.com/holdfast-go/holdfast/internal/redis/resp"
)

// SlowSubscribe is a toxic for the way from client to server. It forwards every
// SUBSCRIBE, PSUBSCRIBE and SSUBSCRIBE after By. Later data on the same
// connection waits behind it.
type SlowSubscribe struct {
	By time.Duration
	queueing
}

// Pipe implements [toxics.Toxic].
func (s *SlowSubscribe) Pipe(stub *toxics.ToxicStub) {
	s.pipe(stub, func() *queue {
		frames := resp.Splitter{Decide: isSubscribe}
		var last time.Time
		return &queue{
			admit: func(c *stream.StreamChunk, now time.Time) []queued {
				if now.After(last) {
					last = now
				}
				if c == nil {
					return ended(frames.Rest(), last)
				}
				var out []queued
				for _, p := range frames.Split(c.Data) {
					if due := now.Add(s.By); p.Taken && due.After(last) {
						last = due
					}
					out = append(out, queued{&stream.StreamChunk{Data: p.Data, Timestamp: c.Timestamp}, last})
				}
				return out
			},
			rest: frames.Rest,
		}
	})
}

// isSubscribe reads the head of a command, "*2 $9 SUBSCRIBE".
func isSubscribe(head []byte) resp.Verdict {
	h, known := resp.ParseHead(head)
	if !known {
		return resp.Undecided
	}
	switch strings.ToUpper(h.First) {
	case "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE":
		return resp.Take
	}
	return resp.Keep
}
