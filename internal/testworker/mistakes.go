package testworker

import (
	"fmt"
	"net"
	"os"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/internal/adapter"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// mistake is one mistake of a worker. request and answer edit every line on its
// way.
type mistake struct {
	first    string // printed before anything else
	describe func(*locks.Description)
	request  func(line) []line
	answer   func(line) []line
	end      func() // before it exits
	status   int    // exit status
}

// mistakes are the known ones, by name.
var mistakes = map[string]mistake{
	Semaphore:     {describe: semaphore},
	"banner":      {first: "Welcome to golock 1.0"},
	"mute":        {request: on("describe", drop)},
	"odd-name":    {describe: func(d *locks.Description) { d.Name = "Go Lock" }},
	"stop-fails":  {status: 3},
	"any-version": {request: on("hello", func(m line) []line { m["hello"].(map[string]any)["protocol"] = adapter.Protocol; return keep(m) })},

	"hello-silent":   {request: on("hello", drop)},
	"hello-dies":     {request: on("hello", die)},
	"hello-garbage":  {request: on("hello", babble)},
	"silent":         {request: on("acquire", drop)},
	"dies":           {request: on("acquire", die)},
	"garbage":        {request: on("acquire", babble)},
	"count":          {answer: granted(func(m line) { m["count"] = 7 })},
	"same-identity":  {answer: having("identity", func(m line) { m["identity"] = "me:1" })},
	"twice":          {request: on("cancel", func(m line) []line { return []line{m, m} })},
	"other-key":      {describe: func(d *locks.Description) { d.Key = "elsewhere:{name}" }},
	"shared-threads": {request: func(m line) []line { return edited(m, m["thread"] != nil, func() { m["thread"] = "1" }) }},
	"vague": {answer: func(m line) []line {
		return edited(m, hasError(m, "not-held") || hasError(m, "lost"), func() { m["errors"] = []string{"other"} })
	}},
	"no-dance":    {request: on("dance", die)},
	"strict":      {request: func(m line) []line { return dieIf(m["later"] != nil, m) }},
	"same-token":  {answer: granted(func(m line) { m["token"] = 5 })},
	"impatient":   {request: on("acquire", func(m line) []line { return edited(m, waitOf(m) > 0, func() { m["wait_ns"] = waitOf(m) / 10 }) })},
	"uncancelled": {request: on("cancel", func(m line) []line { m["of"] = 0; return keep(m) })},
	"cancel-mute": {request: on("cancel", drop)},
	"leftovers":   {answer: having("ended_ns", func(m line) { delete(m, "goroutines") }), request: on("finish", func(m line) []line { m["do"] = "settle"; m["lock"], m["thread"] = "x", "x"; return keep(m) })},
	"elsewhere":   {request: on("hello", func(m line) []line { callHome(); return keep(m) })},

	"unrenewed": {
		request: on("acquire", func(m line) []line { return edited(m, m["lease_ns"] == nil, func() { m["lease_ns"] = 2e9 }) }),
		answer:  granted(func(m line) { m["renewed"] = m["lease_ns"] == 2e9 }),
	},
	"lease-denied": {request: on("acquire", func(m line) []line { delete(m, "lease_ns"); return keep(m) })},
	"unsigned": {answer: func(m line) []line {
		if m["event"] != nil {
			return nil
		}
		delete(m, "lost")
		return keep(m)
	}},
	"deaf-to-end": {end: func() { time.Sleep(time.Hour) }},
}

func keep(m line) []line { return []line{m} }
func drop(line) []line   { return nil }

// on edits requests of one kind.
func on(do string, edit func(line) []line) func(line) []line {
	return func(m line) []line {
		if m["do"] == do {
			return edit(m)
		}
		return keep(m)
	}
}

func edited(m line, when bool, edit func()) []line {
	if when {
		edit()
	}
	return keep(m)
}

func having(field string, edit func(line)) func(line) []line {
	return func(m line) []line { return edited(m, m[field] != nil, func() { edit(m) }) }
}

// granted edits answers that grant the lock.
func granted(edit func(line)) func(line) []line { return having("token", edit) }

func die(line) []line {
	fmt.Fprintln(os.Stderr, "panic: out of luck")
	os.Exit(3)
	return nil
}

func dieIf(when bool, m line) []line {
	if when {
		return die(m)
	}
	return keep(m)
}

func babble(line) []line {
	fmt.Println("WARNING: this is deprecated")
	return nil
}

func hasError(m line, class string) bool {
	all, _ := m["errors"].([]any)
	return slices.Contains(all, any(class))
}

func waitOf(m line) int64 {
	n, _ := m["wait_ns"].(float64)
	return int64(n)
}

// callHome connects to an address outside of the protocol.
func callHome() {
	var err error
	if home.listener, err = net.Listen("tcp", "127.0.0.1:0"); err == nil {
		home.conn, err = net.Dial("tcp", home.listener.Addr().String())
	}
	if err != nil {
		panic(err)
	}
}

// home keeps the connection open, because the garbage collector closes an
// unreferenced one.
var home struct {
	listener net.Listener
	conn     net.Conn
}
