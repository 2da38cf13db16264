package faults

import (
	"bytes"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"
)

// DropMessages is a toxic for the way from server to client. It drops the
// frames that deliver a pub/sub message, whole, and touches no other byte.
// (In RESP2 a delivery looks like any array of three whose first element is
// "message"; such a reply to an ordinary command is dropped too.)
type DropMessages struct{ queueing }

// Pipe implements [toxics.Toxic].
func (d *DropMessages) Pipe(stub *toxics.ToxicStub) {
	d.pipe(stub, func() *queue {
		frames := splitter{decide: isMessage}
		return &queue{
			admit: func(c *stream.StreamChunk, now time.Time) []queued {
				if c == nil {
					return ended(frames.rest(), now)
				}
				var out []byte
				for _, p := range frames.split(c.Data) {
					if !p.taken {
						out = append(out, p.data...)
					}
				}
				if len(out) == 0 {
					return nil
				}
				return []queued{{&stream.StreamChunk{Data: out, Timestamp: c.Timestamp}, now}}
			},
			rest: frames.rest,
		}
	})
}

// Drops says whether a whole frame is lost while the toxic is on.
func (*DropMessages) Drops(frame []byte) bool { return isMessage(frame) == take }

// ended queues the end of a stream behind the bytes that were still held back.
func ended(rest []byte, due time.Time) []queued {
	if len(rest) == 0 {
		return []queued{{nil, due}}
	}
	return []queued{{&stream.StreamChunk{Data: rest}, due}, {nil, due}}
}

var deliveries = [][]byte{
	[]byte("*3\r\n$7\r\nmessage\r\n"), // RESP2
	[]byte(">3\r\n$7\r\nmessage\r\n"), // RESP3
}

// isMessage decides by the head of a frame whether it delivers a message.
func isMessage(head []byte) verdict {
	for _, d := range deliveries {
		if bytes.HasPrefix(head, d) {
			return take
		}
		if bytes.HasPrefix(d, head) {
			return undecided
		}
	}
	return keep
}
