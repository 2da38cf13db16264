package toxics

import (
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"
)

// Hold is a toxic that lets nothing through while it is on, neither bytes nor
// the end of the stream, and hands all of it on in order when it is taken off.
type Hold struct{ queueing }

// Pipe implements [toxics.Toxic].
func (h *Hold) Pipe(stub *toxics.ToxicStub) {
	h.pipe(stub, func() *queue {
		return &queue{admit: func(c *stream.StreamChunk, _ time.Time) []queued { return []queued{{chunk: c}} }}
	})
}

// Blocks reports whether not even a connection can be opened over the link: the
// handshake would be held too.
func (h *Hold) Blocks() bool { return true }
