package sim

import (
	"slices"
	"strings"
)

// denial lists the commands that a server refuses because of a fault.
type denial struct {
	commands []string // in upper case
	memory   bool     // those that need memory
}

// needMemory are the commands that Redis refuses without memory, of those that the world
// follows.
var needMemory = strings.Fields(`APPEND BLMOVE BRPOPLPUSH COPY DECR DECRBY GEOADD GETSET HINCRBY HINCRBYFLOAT HMSET HSET HSETNX
	INCR INCRBY INCRBYFLOAT LINSERT LMOVE LPUSH LPUSHX LSET MSET MSETNX PSETEX RESTORE RPOPLPUSH RPUSH RPUSHX SADD SDIFFSTORE SET
	SETBIT SETEX SETNX SETRANGE SINTERSTORE SUNIONSTORE XADD ZADD ZINCRBY ZINTERSTORE ZUNIONSTORE`)

// deniedBy is the error of a server that refuses a command, or "". Without memory a script
// goes on once it has written, as in Redis. The caller holds exec.
func (n *node) deniedBy(cmd string) string {
	for _, d := range n.denials {
		switch {
		case slices.Contains(d.commands, cmd) && n.inScript:
			return "ERR The user executing the script can't run this command or subcommand"
		case slices.Contains(d.commands, cmd):
			return "NOPERM this user has no permissions to run the '" + strings.ToLower(cmd) + "' command"
		case d.memory && !n.wrote && slices.Contains(needMemory, cmd):
			return "OOM command not allowed when used memory > 'maxmemory'."
		}
	}
	n.wrote = n.wrote || n.inScript && keyed[cmd]
	return ""
}

func (w *World) Deny(name string, commands []string) (allow func() error, err error) {
	return w.deny(name, &denial{commands: commands})
}

func (w *World) FillMemory(name string) (free func() error, err error) {
	return w.deny(name, &denial{memory: true})
}

func (w *World) deny(name string, d *denial) (undo func() error, err error) {
	n, err := w.node(name)
	if err != nil {
		return nil, err
	}
	n.exec.Lock()
	defer n.exec.Unlock()
	n.denials = append(n.denials, d)
	return func() error {
		n.exec.Lock()
		defer n.exec.Unlock()
		n.denials = without(n.denials, d)
		return nil
	}, nil
}
