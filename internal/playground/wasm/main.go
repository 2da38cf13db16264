//go:build js

// Command wasm is the simulator in a browser. It gives the worker of the page one
// function, holdfastPlay(request, done): both are texts of JSON, as of
// [playground.Answer].
package main

import (
	"context"
	"syscall/js"

	"github.com/redis/go-redis/v9/logging"

	"github.com/holdfast-go/holdfast/internal/playground"
	"github.com/holdfast-go/holdfast/internal/suite"
)

func main() {
	logging.Disable()
	requests := make(chan []js.Value)
	js.Global().Set("holdfastPlay", js.FuncOf(func(_ js.Value, args []js.Value) any {
		go func() { requests <- args }() // what is called from JavaScript must not block
		return nil
	}))
	for args := range requests { // one after the other
		answer, _ := playground.Answer(context.Background(), suite.Here{}, []byte(args[0].String())) // it has the error in it
		args[1].Invoke(string(answer))
	}
}
