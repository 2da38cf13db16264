// Package goroutines lists the goroutines of this process, to find leaked ones, and
// detects a run in virtual time that does not end.
package goroutines

import (
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

type Goroutine struct {
	Number string // no other goroutine ever gets it
	Mutex  bool   // it waits for a mutex of package sync
	Bubble int    // its bubble of testing/synctest; 0 for none
	// Durable says that virtual time passes while the goroutine waits.
	Durable bool
	Stack   string // as the runtime prints it
}

// All returns all goroutines. The caller comes first.
func All() []Goroutine {
	buf := make([]byte, 64<<10)
	for {
		n := runtime.Stack(buf, true)
		if n < len(buf) {
			buf = buf[:n]
			break
		}
		buf = make([]byte, 2*len(buf))
	}
	var all []Goroutine
	for stack := range strings.SplitSeq(strings.TrimRight(string(buf), "\n"), "\n\n") {
		all = append(all, parse(stack))
	}
	return all
}

// mutexWaits are the runtime's names of a wait for a mutex.
var mutexWaits = []string{"sync.Mutex.Lock", "sync.RWMutex.Lock", "sync.RWMutex.RLock"}

// parse reads the heading of a stack, such as "goroutine 7 [select (durable), 2
// minutes, synctest bubble 6]:".
func parse(stack string) Goroutine {
	head, _, _ := strings.Cut(stack, "\n")
	number, rest, _ := strings.Cut(strings.TrimPrefix(head, "goroutine "), " ")
	g := Goroutine{Number: number, Stack: stack}
	words := strings.Split(strings.TrimSuffix(strings.TrimPrefix(rest, "["), "]:"), ", ")
	state, durable := strings.CutSuffix(words[0], " (durable)")
	g.Mutex, g.Durable = slices.Contains(mutexWaits, state), durable
	for _, w := range words[1:] {
		if id, ok := strings.CutPrefix(w, "synctest bubble "); ok {
			g.Bubble, _ = strconv.Atoi(id) // the runtime writes a number
		}
	}
	return g
}

// Plain is the stack without numbers and addresses, which differ between processes.
func (g Goroutine) Plain() string { return Plain(g.Stack) }

// Plain removes the numbers and addresses of a stack, which differ between
// processes. It leaves the reason of the wait, and the functions with their
// lines.
func Plain(stack string) string {
	lines := strings.Split(stack, "\n")
	if _, state, ok := strings.Cut(lines[0], "["); ok {
		state, _, _ = strings.Cut(state, ",")
		lines[0] = "goroutine [" + strings.TrimSuffix(state, "]:") + "]"
	}
	for i, l := range lines[1:] {
		if strings.HasPrefix(l, "\t") {
			l, _, _ = strings.Cut(l, " +0x")
			l = "\t" + filepath.Base(l)
		} else if j := strings.LastIndexByte(l, '('); j > 0 && !strings.HasPrefix(l, "created by ") {
			l = l[:j]
		} else if before, _, ok := strings.Cut(l, " in goroutine "); ok {
			l = before
		}
		lines[i+1] = l
	}
	return strings.Join(lines, "\n")
}
