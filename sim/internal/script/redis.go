package script

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/alicebob/miniredis/v2/server"
	lua "github.com/yuin/gopher-lua"
)

// redis is the library "redis", with miniredis's error messages.
func (in *interpreter) redis() *lua.LTable {
	t := in.lua.NewTable()
	in.lua.SetFuncs(t, map[string]lua.LGFunction{
		"call":               func(l *lua.LState) int { return in.command(l, false) },
		"pcall":              func(l *lua.LState) int { return in.command(l, true) },
		"error_reply":        errorReply,
		"status_reply":       statusReply,
		"sha1hex":            sha1hex,
		"log":                log,
		"set_repl":           setRepl,
		"replicate_commands": func(l *lua.LState) int { l.Push(lua.LTrue); return 1 },
		"setresp":            in.setResp,
	})
	for level, name := range []string{"LOG_DEBUG", "LOG_VERBOSE", "LOG_NOTICE", "LOG_WARNING"} {
		t.RawSetString(name, lua.LNumber(level))
	}
	return t
}

// command is redis.call, and redis.pcall where protected.
func (in *interpreter) command(l *lua.LState, protected bool) int {
	args := make([]string, l.GetTop())
	if len(args) == 0 {
		return raise(l, fmt.Sprintf("Please specify at least one argument for this redis lib call script: %s, &c.", in.sha))
	}
	for i := range args {
		switch a := l.Get(i + 1).(type) {
		case lua.LNumber:
			args[i] = a.String()
		case lua.LString:
			args[i] = string(a)
		default:
			return raise(l, fmt.Sprintf("Lua redis lib command arguments must be strings or integers script: %s, &c.", in.sha))
		}
	}
	res, err := in.dispatch(args, protected)
	switch {
	case err == nil:
		l.Push(fromReply(l, res))
		return 1
	case protected:
		text := err.Error()
		if strings.Contains(text, unknown) {
			text = "ERR Unknown Redis command called from script"
		}
		return pushField(l, "err", text)
	case strings.Contains(err.Error(), unknown):
		return raise(l, fmt.Sprintf("Unknown Redis command called from script script: %s, &c.", in.sha))
	}
	return raise(l, err.Error())
}

// unknown begins the error about a command that does not exist.
const unknown = "ERR unknown command"

// dispatch executes a command of the script. The error is the server's.
func (in *interpreter) dispatch(args []string, protected bool) (any, error) {
	e := in.engine
	e.keys.add(e.srv, strings.ToUpper(args[0]), args[1:])
	in.buf.Reset()
	in.out.Reset(&in.buf)
	peer := server.NewPeer(in.out)
	peer.Ctx = in.context(protected)
	e.srv.Dispatch(peer, args)
	peer.Flush()
	in.in.Reset(&in.buf)
	res, err := server.ParseReply(in.in)
	if err != nil { // it names the probe, if a script at all
		err = fmt.Errorf("%s", strings.ReplaceAll(err.Error(), probeSHA, in.sha))
	}
	return res, err
}

var probeSHA = hexSHA1(probe)

func hexSHA1(text string) string {
	sum := sha1.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}

func raise(l *lua.LState, text string) int {
	l.Error(lua.LString(text), 1)
	return 0
}

// pushField returns a table with one field to the script.
func pushField(l *lua.LState, name, text string) int {
	l.Push(fieldTable(l, name, text))
	return 1
}

func fieldTable(l *lua.LState, name, text string) *lua.LTable {
	t := l.CreateTable(0, 1)
	t.RawSetString(name, lua.LString(text))
	return t
}

func errorReply(l *lua.LState) int {
	msg, ok := l.Get(1).(lua.LString)
	if !ok {
		return raise(l, "wrong number or type of arguments")
	}
	code, text, more := strings.Cut(string(msg), " ")
	code = strings.TrimPrefix(code, "-")
	if !more {
		return pushField(l, "err", "ERR "+code)
	}
	return pushField(l, "err", code+" "+text)
}

func statusReply(l *lua.LState) int {
	msg, ok := l.Get(1).(lua.LString)
	if !ok {
		return raise(l, "wrong number or type of arguments")
	}
	return pushField(l, "ok", string(msg))
}

func sha1hex(l *lua.LState) int {
	if l.GetTop() != 1 {
		return raise(l, "wrong number of arguments")
	}
	l.Push(lua.LString(hexSHA1(lua.LVAsString(l.Get(1)))))
	return 1
}

// log only checks its arguments.
func log(l *lua.LState) int {
	l.CheckInt(1)
	l.CheckString(2)
	return 0
}

// setRepl returns its argument, as it does in miniredis.
func setRepl(l *lua.LState) int {
	if l.GetTop() != 1 {
		return raise(l, "wrong number of arguments")
	}
	return 1
}

// setResp counts only if the script fails, as in miniredis.
func (in *interpreter) setResp(l *lua.LState) int {
	version := l.CheckInt(1)
	if version != 2 && version != 3 {
		return raise(l, "RESP version must be 2 or 3")
	}
	in.peer.SwitchResp3 = new(version == 3)
	return 0
}

// clock is os.clock, which never advances.
func clock(l *lua.LState) int {
	l.Push(lua.LNumber(42))
	return 1
}

// fromReply is a server's reply as a Lua value.
func fromReply(l *lua.LState, res any) lua.LValue {
	switch r := res.(type) {
	case nil:
		return lua.LFalse
	case int:
		return lua.LNumber(r)
	case int64:
		return lua.LNumber(r)
	case []byte:
		return lua.LString(r)
	case string:
		return lua.LString(r)
	case server.Simple:
		return fieldTable(l, "ok", string(r))
	case []any:
		t := l.CreateTable(len(r), 0)
		for _, x := range r {
			t.RawSetInt(t.Len()+1, fromReply(l, x))
		}
		return t
	}
	panic(fmt.Sprintf("script: a reply of type %T", res)) // ParseReply has no others
}

// reply sends a Lua value to a client.
func reply(c *server.Peer, value lua.LValue) {
	switch v := value.(type) {
	case nil, *lua.LNilType:
		c.WriteNull()
	case lua.LBool:
		if v {
			c.WriteInt(1)
		} else {
			c.WriteNull()
		}
	case lua.LNumber:
		c.WriteInt(int(v))
	case lua.LString:
		c.WriteBulk(string(v))
	case *lua.LTable:
		if s := v.RawGetString("err"); s != lua.LNil {
			c.WriteError(s.String())
			return
		}
		if s := v.RawGetString("ok"); s != lua.LNil {
			c.WriteInline(s.String())
			return
		}
		n := 0
		for v.RawGetInt(n+1) != lua.LNil {
			n++
		}
		c.WriteLen(n)
		for i := range n {
			reply(c, v.RawGetInt(i+1))
		}
	default:
		panic(fmt.Sprintf("script: a result of type %s", v.Type())) // as miniredis does
	}
}
