package history

import "strings"

// The names of processes in a history say what they are: "client-1", "node-1" and
// "node-1-replica-1".
const (
	clientPrefix = "client-"
	serverPrefix = "node-"
	replicaInfix = "-replica-"
)

// IsClient reports whether a name is that of a client process.
func IsClient(name string) bool { return strings.HasPrefix(name, clientPrefix) }

// IsServer reports whether a name is that of a server.
func IsServer(name string) bool { return strings.HasPrefix(name, serverPrefix) }

// IsReplica reports whether a server was a replica at the start.
func IsReplica(server string) bool { return GroupOf(server) != server }

// GroupOf names the group of a server, by the primary of the start.
func GroupOf(server string) string {
	primary, _, _ := strings.Cut(server, replicaInfix)
	return primary
}
