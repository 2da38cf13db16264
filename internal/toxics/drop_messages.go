package toxics

import (
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"

	"github.com/holdfast-go/holdfast/internal/redis/resp"
)

// DropMessages is a toxic for the way from server to client. It drops the
// frames that deliver a pub/sub message, whole, and touches no other byte.
// (In RESP2 a delivery looks like any array of three whose first element is
// "message"; such a reply to an ordinary command is dropped too.)
type DropMessages struct{ queueing }

// Pipe implements [toxics.Toxic].
func (d *DropMessages) Pipe(stub *toxics.ToxicStub) {
	d.pipe(stub, func() *queue {
		frames := resp.Splitter{Decide: isMessage}
		return &queue{
			admit: func(c *stream.StreamChunk, now time.Time) []queued {
				if c == nil {
					return ended(frames.Rest(), now)
				}
				var out []byte
				for _, p := range frames.Split(c.Data) {
					if !p.Taken {
						out = append(out, p.Data...)
					}
				}
				if len(out) == 0 {
					return nil
				}
				return []queued{{&stream.StreamChunk{Data: out, Timestamp: c.Timestamp}, now}}
			},
			rest: frames.Rest,
		}
	})
}

// Drops reports whether a whole frame is lost while the toxic is on.
func (*DropMessages) Drops(frame []byte) bool { return isMessage(frame) == resp.Take }

// ended queues the end of a stream after the bytes that the toxic still withholds.
func ended(rest []byte, due time.Time) []queued {
	if len(rest) == 0 {
		return []queued{{nil, due}}
	}
	return []queued{{&stream.StreamChunk{Data: rest}, due}, {nil, due}}
}

// isMessage reads the head of a frame, and reports whether it delivers a message:
// "*3 $7 message" in RESP2, ">3 $7 message" in RESP3.
func isMessage(head []byte) resp.Verdict {
	switch h, known := resp.ParseHead(head); {
	case !known:
		return resp.Undecided
	case h.Len == 3 && h.First == "message":
		return resp.Take
	}
	return resp.Keep
}
