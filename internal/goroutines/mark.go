package goroutines

import (
	"context"
	"runtime/pprof"
	"sync"
	"unsafe" // also for go:linkname
)

// profLabel is the set of profiler labels of the calling goroutine, which all goroutines
// inherit that it starts. The runtime keeps this name for such uses, see go.dev/issue/67401.
//
//go:linkname profLabel runtime/pprof.runtime_getProfLabel
func profLabel() unsafe.Pointer

// marks has the word of each set of labels that stands for a mark.
var marks sync.Map

// Mark marks the calling goroutine and all goroutines that it starts with a word, until
// the caller calls the returned function. It drops profiler labels of the goroutine.
func Mark(word string) (unmark func()) {
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels("holdfast", word)))
	set := profLabel()
	marks.Store(set, word)
	return func() {
		marks.Delete(set)
		pprof.SetGoroutineLabels(context.Background())
	}
}

// Marked is the mark of the calling goroutine, "" for none.
func Marked() string {
	set := profLabel()
	if set == nil {
		return ""
	}
	word, _ := marks.Load(set)
	text, _ := word.(string)
	return text
}
