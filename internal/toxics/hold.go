package toxics

import (
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"
)

// Hold is a toxic that holds everything back while it is on, bytes and the end of
// the stream. It forwards all of it in order when it is removed.
type Hold struct{ queueing }

// Pipe implements [toxics.Toxic].
func (h *Hold) Pipe(stub *toxics.ToxicStub) {
	h.pipe(stub, func() *queue {
		return &queue{admit: func(c *stream.StreamChunk, _ time.Time) []queued { return []queued{{chunk: c}} }}
	})
}

// Blocks reports whether a toxic keeps a link from opening connections: it would
// hold or lose the handshake, too.
func Blocks(t toxics.Toxic) bool {
	switch t.(type) {
	case *Hold, *Blackhole:
		return true
	}
	return false
}
