package workers

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/holdfast-go/holdfast/internal/suite"
	"github.com/holdfast-go/holdfast/sim"
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
	})
}

// The kinds of jobs that do not end.
const (
	spinning      = "spinning"      // it never waits
	standingStill = "standingstill" // it waits for a mutex for ever
)

func init() {
	suite.RegisterKind(spinning, func(_ suite.Job, a suite.Answer, g suite.Guard) suite.Answer {
		g(func() {
			for ctx := context.Background(); ctx.Err() == nil; {
			}
		})
		return a
	})
	suite.RegisterKind(standingStill, func(_ suite.Job, a suite.Answer, g suite.Guard) suite.Answer {
		held := &sync.Mutex{}
		held.Lock()
		g(func() { sim.Bubble(held.Lock) })
		return a
	})
}
