package faults

import (
	"sync"
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

// Cut holds everything on the links, both ways, until heal, which hands it on
// in order; whatever other toxics come and go meanwhile. A [Hold] that is
// attached bare hands on what it holds whenever another toxic is chained.
func Cut(w Attacher, links []Link) (heal func(), err error) {
	h := new(Hold)
	off, err := h.on(w, links, []stream.Direction{stream.Upstream, stream.Downstream}, h)
	if err != nil {
		return nil, err
	}
	return sync.OnceFunc(func() { _ = off() }), nil // a queueing toxic's heal cannot fail
}

// Blocks says that not even a connection can be opened over the link: the
// handshake would be held too.
func (h *Hold) Blocks() bool { return true }
