package script

import (
	"bufio"
	"bytes"
	"fmt"
	"reflect"
	"sync"

	"github.com/alicebob/miniredis/v2"
	luajson "github.com/alicebob/miniredis/v2/gopher-json"
	"github.com/alicebob/miniredis/v2/server"
	lua "github.com/yuin/gopher-lua"
)

// interpreter is a Lua state that one script at a time runs in, of any server.
type interpreter struct {
	lua  *lua.LState
	libs map[string]*library
	buf  bytes.Buffer // the reply to a command of the script
	out  *bufio.Writer
	in   *bufio.Reader

	// Of the script that runs:
	engine      *Engine
	peer        *server.Peer // of the client
	sha         string
	call, pcall any // the contexts of its commands, nil before the first
}

// interpreters are those that no script runs in. They are as newInterpreter
// makes them.
var interpreters = sync.Pool{New: func() any { return newInterpreter() }}

// newInterpreter makes an interpreter with the globals that a program may name.
func newInterpreter() *interpreter {
	in := &interpreter{lua: lua.NewState(lua.Options{SkipOpenLibs: true}), libs: map[string]*library{}}
	in.out, in.in = bufio.NewWriter(&in.buf), bufio.NewReader(&in.buf)
	l := in.lua
	for name, open := range map[string]lua.LGFunction{ // in any order: none needs another
		lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable, lua.StringLibName: lua.OpenString, lua.MathLibName: lua.OpenMath,
	} {
		l.Push(l.NewFunction(open))
		l.Push(lua.LString(name))
		l.Call(1, 0)
	}
	l.Push(l.NewFunction(luajson.Loader))
	l.Call(0, 1)
	l.SetGlobal("cjson", l.Get(-1))
	l.SetTop(0)
	redis := in.redis()
	l.SetGlobal("redis", redis)
	l.SetGlobal("server", redis)
	l.RegisterModule("os", map[string]lua.LGFunction{"clock": clock})
	for _, name := range libraries {
		in.libs[name] = newLibrary(l.GetGlobal(name).(*lua.LTable))
	}
	return in
}

// run runs a program and sends its reply. False means that it ended with a Lua
// error.
func (in *interpreter) run(e *Engine, peer *server.Peer, p *program, keys, args []string) bool {
	l := in.lua
	in.engine, in.peer, in.sha = e, peer, p.sha
	defer func() { in.engine, in.peer, in.call, in.pcall = nil, nil, nil, nil }()
	in.setList("KEYS", keys)
	in.setList("ARGV", args)
	resp3 := peer.Resp3
	l.Push(l.NewFunctionFromProto(p.proto))
	if err := l.PCall(0, lua.MultRet, nil); err != nil {
		// miniredis uses the message as a format, which matters if it has a
		// percent sign.
		peer.WriteError(fmt.Sprintf("ERR Error compiling script (new function): "+err.Error(), []any{}...))
		return false
	}
	reply(peer, l.Get(1))
	l.SetTop(0)
	peer.Resp3, peer.SwitchResp3 = resp3, nil
	return true
}

func (in *interpreter) setList(name string, list []string) {
	t := in.lua.CreateTable(len(list), 0)
	for i, x := range list {
		t.RawSetInt(i+1, lua.LString(x))
	}
	in.lua.G.Global.RawSetString(name, t)
}

// clean reports whether a program has left the libraries unchanged.
func (in *interpreter) clean(p *program) bool {
	for _, name := range p.libs {
		if !in.libs[name].intact() {
			return false
		}
	}
	return true
}

// library is a table of functions, with its initial content.
type library struct {
	table *lua.LTable
	names []string
	held  []lua.LValue
}

func newLibrary(t *lua.LTable) *library {
	lib := &library{table: t}
	t.ForEach(func(k, v lua.LValue) {
		lib.names, lib.held = append(lib.names, k.String()), append(lib.held, v)
	})
	return lib
}

// intact reports whether the table has its initial content. No program can reach
// its metatable.
func (lib *library) intact() bool {
	n := 0
	for k, _ := lib.table.Next(lua.LNil); k != lua.LNil; k, _ = lib.table.Next(k) {
		n++
	}
	if n != len(lib.names) {
		return false
	}
	for i, name := range lib.names {
		if lib.table.RawGetString(name) != lib.held[i] {
			return false
		}
	}
	return true
}

// probe is the script whose commands show the contexts of redis.call and
// redis.pcall.
const probe = "redis.call('PING') redis.pcall('PING')"

// probed are the contexts of the probe. A context tells miniredis that a command
// is part of a script: the server is locked, and refuses some commands. miniredis
// offers no other way to say so.
var probed = sync.OnceValue(func() (seen []any) {
	mr := miniredis.NewMiniRedis()
	c, err := mr.Dial() // starts it without a listener
	if err != nil {
		panic("script: start a server: " + err.Error()) // in memory: cannot happen
	}
	defer mr.Close()
	defer c.Close()
	mr.Server().SetPreHook(func(p *server.Peer, cmd string, _ ...string) bool {
		if cmd == "PING" {
			seen = append(seen, p.Ctx)
		}
		return false
	})
	mr.Server().Dispatch(unread(), []string{"EVAL", probe, "0"})
	return seen
})

// context returns the context of redis.call, and of redis.pcall where protected.
// Each script has its own, because a command may change it, as SELECT does.
func (in *interpreter) context(protected bool) any {
	own, seen := &in.call, probed()[0]
	if protected {
		own, seen = &in.pcall, probed()[1]
	}
	if *own == nil {
		c := reflect.New(reflect.TypeOf(seen).Elem())
		c.Elem().Set(reflect.ValueOf(seen).Elem())
		*own = c.Interface()
	}
	return *own
}
