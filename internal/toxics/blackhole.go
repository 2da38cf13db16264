package toxics

import "github.com/Shopify/toxiproxy/v2/toxics"

// Blackhole is a toxic that drops every byte while it is on. It leaves a stream
// with a hole in it, so somebody has to break the connection before the toxic is
// removed. If a chain cleans up after its toxics, Cleanup does that.
type Blackhole struct{}

// Pipe implements [toxics.Toxic].
func (*Blackhole) Pipe(stub *toxics.ToxicStub) {
	for {
		select {
		case <-stub.Interrupt:
			return
		case c := <-stub.Input:
			if c == nil {
				stub.Close()
				return
			}
		}
	}
}

// Cleanup implements [toxics.CleanupToxic].
func (*Blackhole) Cleanup(stub *toxics.ToxicStub) { stub.Close() }

// Drops reports whether a frame is lost while the toxic is on. Every frame is.
func (*Blackhole) Drops([]byte) bool { return true }
