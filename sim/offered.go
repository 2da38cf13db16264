package sim

import (
	"bufio"
	"bytes"
	"slices"
	"strings"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
	"github.com/holdfast-go/holdfast/internal/redis/profile"
	"github.com/holdfast-go/holdfast/sim/internal/script"
)

// notLocal is the error of a cluster's node for a key or a channel of a script. Its slot is
// not that of the declared keys.
const notLocal = "ERR Script attempted to access a non local key in a cluster node"

// refusedByProfile is the error of the server as it is offered for a request of a client,
// or "".
func (n *node) refusedByProfile(cmd string, args []string) string {
	p := n.world.opts.Server
	if refusal := p.Refusal(args, false); refusal != "" {
		return refusal
	}
	text := ""
	switch {
	case cmd == "EVAL" && len(args) > 1:
		text = args[1]
	case cmd == "SCRIPT" && len(args) == 3 && strings.EqualFold(args[1], "LOAD"):
		text = args[2]
	}
	if p.Literal != "" && text != "" && !n.hasLiteralKeys(text) {
		return p.Literal
	}
	return ""
}

// hasLiteralKeys is [script.HasLiteralKeys]. The caller holds exec.
func (n *node) hasLiteralKeys(text string) bool {
	has, known := n.literal[text]
	if !known {
		has = script.HasLiteralKeys(text, func(args []string) []string {
			keys, _ := keysOf(strings.ToUpper(args[0]), args)
			return keys
		})
		n.literal[text] = has
	}
	return has
}

// refusedInScript is the error of the server as it is offered, or of a fault, for a command
// of a script, or "". The caller holds exec. It does not check the keys of a script within
// a transaction.
func (n *node) refusedInScript(cmd string, args []string) string {
	p, request := n.world.opts.Server, append([]string{cmd}, args...)
	if refusal := p.Refusal(request, true); refusal != "" {
		return refusal
	}
	keys, _ := keysOf(cmd, request)
	for _, k := range keys {
		if n.declared != nil && p.Undeclared != "" && !slices.Contains(n.declared, k) {
			return strings.ReplaceAll(p.Undeclared, "{key}", k)
		}
	}
	if p.Sharded && cmd == "PUBLISH" && len(args) > 0 {
		keys = args[:1]
	}
	elsewhere := func(k string) bool { return keyspace.SlotOf(k) != keyspace.SlotOf(n.declared[0]) }
	if n.world.opts.Cluster && len(n.declared) > 0 && slices.ContainsFunc(keys, elsewhere) {
		return notLocal
	}
	return n.deniedBy(cmd)
}

// compares reports whether a request compares a value before it writes. The server has it,
// and miniredis has not.
func (n *node) compares(cmd string, args []string) bool {
	p := n.world.opts.Server
	return cmd == "DELIFEQ" && p.HasCommand(cmd) || cmd == "SET" && p.HasCommand(profile.SetIfEqual) && optionAt(args, "IFEQ") > 0
}

// digests reports whether a request compares by a digest, or writes where a value differs.
func digests(cmd string, args []string) bool {
	return (cmd == "DELEX" || cmd == "SET") &&
		slices.ContainsFunc([]string{"IFDEQ", "IFDNE"}, func(o string) bool { return optionAt(args, o) > 0 }) || cmd == "SET" && optionAt(args, "IFNE") > 0
}

// optionAt is where an option stands among the arguments of SET or DELEX, 0 where it
// stands nowhere.
func optionAt(args []string, option string) int {
	for i := 1; i < len(args); i++ {
		switch a := strings.ToUpper(args[i]); {
		case a == option:
			return i
		case slices.Contains([]string{"EX", "PX", "EXAT", "PXAT", "IFEQ"}, a):
			i++ // what follows is a value
		}
	}
	return 0
}

// compare executes a request that compares. It answers as valkey-server 9.1 does.
func (n *node) compare(process *server.Server, c *server.Peer, cmd string, args []string) {
	if cmd == "DELIFEQ" {
		if len(args) != 2 {
			c.WriteError("ERR wrong number of arguments for 'delifeq' command")
			return
		}
		switch value, found, err := valueOf(process, c, args[0]); {
		case err != nil:
			c.WriteError(err.Error())
		case found && value == args[1]:
			process.Dispatch(c, []string{"DEL", args[0]})
		default:
			c.WriteInt(0)
		}
		return
	}
	at := optionAt(args, "IFEQ")
	rest := append([]string{cmd}, args[:at]...)
	if at+1 < len(args) {
		rest = append(rest, args[at+2:]...)
	}
	has := func(option string) bool { return optionAt(rest[1:], option) > 0 }
	if at+1 >= len(args) || at < 2 || has("IFEQ") || has("NX") || has("XX") {
		c.WriteError("ERR syntax error")
		return
	}
	switch value, found, err := valueOf(process, c, args[0]); {
	case err != nil:
		c.WriteError(err.Error())
	case found && value == args[at+1]:
		process.Dispatch(c, rest)
	case found && has("GET"):
		c.WriteBulk(value)
	default:
		c.WriteNull()
	}
}

// valueOf asks the server process for the value of a key, as a part of the request that
// comes over a connection.
func valueOf(process *server.Server, c *server.Peer, key string) (value string, found bool, err error) {
	var reply bytes.Buffer
	asker := server.NewPeer(bufio.NewWriter(&reply))
	asker.Ctx = c.Ctx
	process.Dispatch(asker, []string{"GET", key})
	asker.Flush()
	got, err := server.ParseReply(bufio.NewReader(&reply))
	value, found = got.(string)
	return value, found, err
}

// abortTransaction makes the EXEC of a connection fail, as a refused request does.
func (s *session) abortTransaction() {
	if !s.multi {
		return
	}
	unread := server.NewPeer(bufio.NewWriter(&bytes.Buffer{}))
	unread.Ctx = s.peer.Ctx
	s.node.mr.Server().Dispatch(unread, []string{"GET"}) // of too few arguments
}
