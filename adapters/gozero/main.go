// Command holdfast-gozero is a client process that has go-zero's RedisLock.
//
//	holdfast run --world live --adapter adapters/gozero/holdfast-gozero
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/zeromicro/go-zero/core/logx"

	"github.com/holdfast-go/holdfast/locktest"
)

func main() {
	logx.Disable() // it logs to stdout, where the answers go
	if err := locktest.Serve(context.Background(), os.Stdin, os.Stdout, Lock()); err != nil {
		fmt.Fprintln(os.Stderr, "holdfast-gozero:", err)
		os.Exit(1)
	}
}
