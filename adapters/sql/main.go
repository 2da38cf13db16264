// Command holdfast-sql serves the locks that people build on PostgreSQL and MariaDB.
// Without an argument it is a client process, which speaks the protocol of
// docs/adapter-protocol.md. With the name of a database it runs a server of that
// kind; see "Bundled servers" on the same page.
package main

import (
	"github.com/holdfast-go/holdfast/internal/adapter"
	"github.com/holdfast-go/holdfast/internal/adapter/bundled"
)

func main() { program().Main() }

func program() bundled.Program {
	servers := make(map[string]func(bundled.Settings) (bundled.Server, error))
	for _, d := range databases {
		servers[d.name] = d.server
	}
	return bundled.Program{Client: adapter.Program{Locks: describe(), Open: open}, Servers: servers}
}
