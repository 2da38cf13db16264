// Command holdfast-etcd serves etcd's concurrency.Mutex. Without an argument it is a
// client process, which speaks the protocol of docs/adapter-protocol.md. With the
// argument "serve" it is a member of an etcd cluster; see "Bundled servers" on the
// same page.
package main

import (
	"github.com/holdfast-go/holdfast/internal/adapter"
	"github.com/holdfast-go/holdfast/internal/adapter/bundled"
)

const serveRole = "serve"

func main() { program().Main() }

func program() bundled.Program {
	return bundled.Program{
		Client:  adapter.Program{Locks: describe(), Open: open},
		Servers: map[string]func(bundled.Settings) (bundled.Server, error){serveRole: newMember},
	}
}
