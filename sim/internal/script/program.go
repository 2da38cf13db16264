package script

import (
	"slices"
	"strings"
	"sync"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// program is a script that keeps nothing in an interpreter, apart from what it
// may store in the library tables that it names.
type program struct {
	text, sha string
	proto     *lua.FunctionProto
	libs      []string
}

// programs are the scripts that this process has seen: a *program by its text,
// nil for one that only miniredis may run.
var programs sync.Map

// find compiles a script, or remembers it. nil means that miniredis has to run
// the script.
func find(text string) *program {
	if p, ok := programs.Load(text); ok {
		return p.(*program)
	}
	p := compile(text)
	programs.Store(text, p)
	return p
}

// compile reads a script under the names that miniredis gives it, since error
// messages quote them.
func compile(text string) *program {
	chunk, err := parse.Parse(strings.NewReader(text), "<string>")
	if err != nil {
		return nil
	}
	proto, err := lua.Compile(chunk, "")
	if err != nil {
		return nil
	}
	p := &program{text: text, sha: hexSHA1(text), proto: proto}
	if !p.admit(proto) {
		return nil
	}
	slices.Sort(p.libs)
	p.libs = slices.Compact(p.libs)
	return p
}

// libraries are the globals that are tables, and outlive a script.
var libraries = []string{"redis", "server", "string", "table", "math", "cjson", "os"}

// values are the other globals that a script may name. None of them leads to the
// table of globals, to an environment, to a metatable or to another thread.
var values = []string{
	"KEYS", "ARGV", "assert", "error", "ipairs", "next", "pairs", "pcall", "rawequal", "rawget",
	"select", "tonumber", "tostring", "type", "unpack", "xpcall",
}

// The layout of an instruction of gopher-lua: the opcode in the highest six
// bits, and the index of a constant in the lowest eighteen.
const (
	opcodeShift  = 26
	constantMask = 1<<18 - 1
)

// admit reports whether a function and those inside it set no global and name
// only known ones. It notes the libraries among them. An instruction may be
// followed by a word of data. Taken for an instruction, that word can lead to a
// refusal and to nothing else.
func (p *program) admit(f *lua.FunctionProto) bool {
	for _, inst := range f.Code {
		switch int(inst >> opcodeShift) {
		case lua.OP_SETGLOBAL:
			return false
		case lua.OP_GETGLOBAL:
			i := int(inst & constantMask)
			if i >= len(f.Constants) {
				return false
			}
			switch name := f.Constants[i].String(); {
			case slices.Contains(libraries, name):
				p.libs = append(p.libs, name)
			case !slices.Contains(values, name):
				return false
			}
		}
	}
	return !slices.ContainsFunc(f.FunctionPrototypes, func(f *lua.FunctionProto) bool { return !p.admit(f) })
}
