package workers

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		// holdfast is a worker process.
		"holdfast": func() {
			if err := ServeJobs(os.Stdin, os.Stdout); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		},
		// spinning is a worker whose first run never waits.
		"spinning": func() {
			most, err := time.ParseDuration(os.Getenv(stallVariable))
			if err != nil {
				panic(err)
			}
			still := &stallDetector{most: most}
			go still.watch(os.Stderr)
			still.play(func() {
				for ctx := context.Background(); ctx.Err() == nil; {
				}
			})
		},
		// standingstill is a worker whose first run waits for a mutex for ever.
		"standingstill": func() {
			still, held := &stallDetector{}, &sync.Mutex{}
			held.Lock()
			go still.watch(os.Stderr)
			still.play(held.Lock)
		},
	})
}
