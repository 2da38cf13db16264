package play_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9/logging"

	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/nightly"
	"github.com/holdfast-go/holdfast/internal/play"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// hashesEnv makes the test binary play the catalogue and print the hashes,
// so that a test can compare two processes.
const hashesEnv = "HOLDFAST_TEST_PRINT_HASHES"

func TestMain(m *testing.M) {
	logging.Disable() // broken connections are the point here
	if os.Getenv(hashesEnv) != "" {
		if err := printHashes(os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// asWorker plays as the processes of holdfast do until the end of the test: simulated
// runs are several times faster.
func asWorker(t *testing.T) {
	t.Helper()
	procs, percent := runtime.GOMAXPROCS(1), debug.SetGCPercent(800)
	t.Cleanup(func() {
		runtime.GOMAXPROCS(procs)
		debug.SetGCPercent(percent)
	})
}

// printHashes plays every scenario against every lock once, one of three in make test.
func printHashes(w io.Writer) error {
	n, every := 0, nightly.Every(3)
	for _, s := range scenarios.Catalogue() {
		for _, l := range locks.Names() {
			if ok, _ := s.Applies(locks.MustFind(l)); !ok {
				continue
			}
			if n++; n%every != 0 {
				continue
			}
			p, err := play.Simulate(s, locks.MustFind(l), 7, "test")
			if err != nil {
				return err
			}
			fmt.Fprintf(w, "%s %s %s\n", s.Name, l, p.History.Hash())
		}
	}
	return nil
}

// A process with several threads gives what one with a single thread gives, with other
// seeds than that of the golden files.
func TestTheSameSeedGivesTheSameHistoryInAnyProcess(t *testing.T) {
	exe, err := os.Executable()
	must.Succeed(t, err)
	type result struct {
		out []byte
		err error
	}
	play := func(procs string) <-chan result {
		done := make(chan result, 1)
		go func() {
			cmd := exec.Command(exe)
			cmd.Env = append(os.Environ(), hashesEnv+"=1", "GOMAXPROCS="+procs, "GOGC=800")
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			done <- result{out, err}
		}()
		return done
	}
	first, second := play("1"), play("4")
	a, b := <-first, <-second
	if a.err != nil || b.err != nil {
		t.Fatal(a.err, b.err)
	}
	as, bs := bufio.NewScanner(bytes.NewReader(a.out)), bufio.NewScanner(bytes.NewReader(b.out))
	n := 0
	for as.Scan() && bs.Scan() {
		n++
		f := strings.Fields(as.Text())
		if as.Text() != bs.Text() {
			t.Errorf("%s with %s: one process gave another history than the other", f[0], f[1])
		}
	}
	if n < len(scenarios.Names()) {
		t.Errorf("compared %d runs, want at least one of each of %d scenarios", n, len(scenarios.Names()))
	}
}
