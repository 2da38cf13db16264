// Command holdfast-golocks is a client process that has the locks of Go
// libraries: redsync, redislock and rueidislock.
//
//	holdfast run --world live --adapter bin/holdfast-golocks
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/holdfast-go/holdfast/adapters/redislock"
	"github.com/holdfast-go/holdfast/adapters/redsync"
	"github.com/holdfast-go/holdfast/adapters/rueidislock"
	"github.com/holdfast-go/holdfast/locktest"
)

func main() {
	err := locktest.Serve(context.Background(), os.Stdin, os.Stdout,
		redsync.Lock(), redsync.Majority(), redislock.Lock(), rueidislock.Lock())
	if err != nil {
		fmt.Fprintln(os.Stderr, "holdfast-golocks:", err)
		os.Exit(1)
	}
}
