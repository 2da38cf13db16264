package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
)

// unfollowed are commands of the server whose effects the world neither sees nor
// replicates, with the reason.
var unfollowed = map[string]string{
	"XGROUP": groups, "XREADGROUP": groups, "XACK": groups, "XCLAIM": groups, "XAUTOCLAIM": groups,
	"HEXPIRE": fields, "HSETEX": fields,
	"PFADD": estimates, "PFMERGE": estimates,
	"SELECT": databases, "SWAPDB": databases, "MOVE": databases,
}

const (
	groups    = "it does not replicate consumer groups"
	fields    = "it does not see when a field of a hash runs out"
	estimates = "it does not replicate HyperLogLogs"
	databases = "it sees database 0 alone"
)

// refuseSome makes a server process refuse requests, also of scripts, that faults
// deny, and those that the world cannot follow. After one of these the run proves nothing,
// and the lock gets no blame.
func (n *node) refuseSome(process *server.Server) {
	process.SetPreHook(func(c *server.Peer, cmd string, args ...string) (done bool) {
		refusal, why := "", ""
		if n.inScript {
			refusal = n.refusedInScript(cmd, args)
		}
		if refusal == "" {
			why = n.notFollowed(process, cmd, args)
		}
		switch {
		case refusal != "":
			c.WriteError(refusal)
			return true
		case why == "" && n.compares(cmd, args):
			n.compare(process, c, cmd, args)
			return true
		case why == "":
			n.notePublished(cmd, args)
			return false
		}
		n.cannotFollow(cmd, why)
		c.WriteError("ERR cannot follow " + cmd)
		return true
	})
}

// notFollowed returns the reason why the world cannot follow a request, or "". The
// caller holds exec.
func (n *node) notFollowed(process *server.Server, cmd string, args []string) string {
	switch {
	case cmd == "SELECT" && len(args) == 1 && args[0] == "0", faults.Quiet(cmd) && cmd != "SELECT":
		return ""
	case digests(cmd, args) && n.world.opts.Server.HasCommand("DELEX"):
		return "it has no digests and no comparison but for equality"
	case n.compares(cmd, args):
		return ""
	case !process.IsRegisteredCommand(cmd):
		return "its servers do not know the command"
	case subscribesToKeys(cmd, args):
		return "its servers send no keyspace events"
	case n.inScript && keyspace.MayWait(append([]string{cmd}, args...)):
		return "its servers have no commands that wait in scripts"
	}
	return unfollowed[cmd]
}

// subscribesToKeys reports whether a request subscribes to keyspace events.
func subscribesToKeys(cmd string, args []string) bool {
	return (cmd == "SUBSCRIBE" || cmd == "PSUBSCRIBE") &&
		slices.ContainsFunc(args, func(channel string) bool { return strings.HasPrefix(channel, "__key") })
}

// cannotFollow fails the run, once for each command. The caller holds exec.
func (n *node) cannotFollow(cmd, why string) {
	cmd = cmp.Or(cmd, "a change")
	if !slices.Contains(n.refused, cmd) {
		n.refused = append(n.refused, cmd)
		n.world.fail(fmt.Errorf("cannot follow %s in the simulated world: %s; real servers, with --world live, have it", cmd, why))
	}
}

// isScript reports whether a command runs a script.
func isScript(cmd string) bool { return strings.HasPrefix(cmd, "EVAL") }
