// Package party names the clients and servers of a run, and reads such names.
// Group g begins with the primary "node-g" and has the replicas "node-g-replica-1"
// and so on; the clients are "client-1" and so on.
package party

import (
	"strconv"
	"strings"
)

const (
	client  = "client-"
	node    = "node-"
	replica = "-replica-"
)

// Client names a client; n counts from 1.
func Client(n int) string { return client + strconv.Itoa(n) }

// Node names the server with which a group begins; group counts from 1.
func Node(group int) string { return node + strconv.Itoa(group) }

// Replica names a replica of the server with which a group begins; n counts from 1.
func Replica(of string, n int) string { return of + replica + strconv.Itoa(n) }

func IsClient(name string) bool { return strings.HasPrefix(name, client) }

// IsServer reports whether a name is that of one server. "primary", for example, may
// be any.
func IsServer(name string) bool { return strings.HasPrefix(name, node) }

// IsReplica reports whether a name is that of a server that begins as a replica.
func IsReplica(name string) bool { return strings.Contains(name, replica) }

// First returns the server with which the group of a server begins, and any other
// name itself.
func First(name string) string {
	first, _, _ := strings.Cut(name, replica)
	return first
}

// Number returns the number of a client, or of a server's group; 0 for other names.
func Number(name string) int {
	first := First(name)
	for _, prefix := range []string{client, node} {
		if digits, ok := strings.CutPrefix(first, prefix); ok {
			n, _ := strconv.Atoi(digits)
			return n
		}
	}
	return 0
}
