package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/tools/mutation/schemata"
)

// ownTests are the tests of the mutated packages. They show what the harness does not
// judge, such as the values that a call returns.
type ownTests struct {
	programs []testProgram
	workers  int
	left     []string // tests that fail with the original
}

// A test with a mutant may take its time with the original, this many times over, and
// slack more. That is real time.
const (
	patience = 5
	slack    = 15 * time.Second
)

// testProgram is the tests of a package, with all mutants.
type testProgram struct {
	exe, dir string
	tests    []ownTest // that pass with the original, the short ones first
}

// ownTest is a test as the original passes it.
type ownTest struct {
	name    string
	took    time.Duration
	reaches map[int]bool // mutants
}

// playOriginal runs each test by itself with the original, to learn what it reaches. It
// calls step after each program.
func (t *ownTests) playOriginal(ctx context.Context, scratch string, step func()) error {
	for i := range t.programs {
		p := &t.programs[i]
		listed, err := exec.CommandContext(ctx, p.exe, "-test.list", "^(Test|Example)").Output()
		if err != nil {
			return fmt.Errorf("list tests: %w", err)
		}
		names := strings.Fields(string(listed))
		found := make([]*ownTest, len(names))
		var mu sync.Mutex
		err = t.each(ctx, len(names), func(ctx context.Context, n int) error {
			one, err := p.original(ctx, names[n], fmt.Sprintf("%s/reached-%d-%d", scratch, i, n))
			mu.Lock()
			defer mu.Unlock()
			if found[n] = one; one == nil && err == nil {
				t.left = append(t.left, names[n])
			}
			return err
		})
		if err != nil {
			return err
		}
		for _, one := range found {
			if one != nil {
				p.tests = append(p.tests, *one)
			}
		}
		slices.SortStableFunc(p.tests, func(a, b ownTest) int { return cmp.Compare(a.took, b.took) })
		step()
	}
	slices.Sort(t.left)
	return nil
}

// original runs a test with the original. It returns nil if the test fails.
func (p *testProgram) original(ctx context.Context, name, reached string) (*ownTest, error) {
	began := time.Now()
	out, err := p.run(ctx, 0, []ownTest{{name: name, took: time.Minute}}, schemata.ReachedVariable+"="+reached)
	if err != nil {
		return nil, err
	}
	if out != nil {
		return nil, nil
	}
	one := &ownTest{name: name, took: time.Since(began), reaches: map[int]bool{}}
	text, err := os.ReadFile(reached)
	if err != nil && !errors.Is(err, os.ErrNotExist) { // it reaches none
		return nil, fmt.Errorf("read what %s reaches: %w", name, err)
	}
	for _, word := range strings.Fields(string(text)) {
		n, err := strconv.Atoi(word)
		if err != nil {
			return nil, fmt.Errorf("read what %s reaches: %w", name, err)
		}
		one.reaches[n] = true
	}
	return one, nil
}

// run runs tests with a mutant. It returns nil if all pass, and otherwise what they
// print. It ends tests that print nothing for too long.
func (p *testProgram) run(ctx context.Context, mutant int, tests []ownTest, env ...string) ([]byte, error) {
	var names []string
	longest := time.Duration(0)
	for _, one := range tests {
		names = append(names, one.name)
		longest = max(longest, one.took)
	}
	waiting, hung := context.WithCancel(ctx)
	defer hung()
	cmd := exec.CommandContext(waiting, p.exe, "-test.run", "^("+strings.Join(names, "|")+")$", "-test.failfast", "-test.v")
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), append(env, fmt.Sprintf("%s=%d", schemata.Variable, mutant))...)
	out := &watched{silence: slack + patience*longest}
	out.timer = time.AfterFunc(out.silence, hung)
	defer out.timer.Stop()
	cmd.Stdout, cmd.Stderr = out, out
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &exit):
		return append(out.Bytes(), '\n'), nil
	case err != nil:
		return nil, fmt.Errorf("run tests: %w", err)
	}
	return nil, nil
}

// watched keeps an output. Its timer fires after a silence.
type watched struct {
	bytes.Buffer
	silence time.Duration
	timer   *time.Timer
}

// Write implements io.Writer.
func (w *watched) Write(b []byte) (int, error) {
	w.timer.Reset(w.silence)
	return w.Buffer.Write(b)
}

// kills returns the test that fails with a mutant, or "" if all pass. It believes a
// failure that it sees twice.
func (t *ownTests) kills(ctx context.Context, mutant int) (string, error) {
	for _, p := range t.programs {
		var tests []ownTest
		for _, one := range p.tests {
			if one.reaches[mutant] {
				tests = append(tests, one)
			}
		}
		for len(tests) > 0 {
			out, err := p.run(ctx, mutant, tests)
			if err != nil {
				return "", err
			}
			if out == nil {
				break
			}
			by, again := failing(out), tests
			called := func(one ownTest) bool { return one.name == by }
			if at := slices.IndexFunc(tests, called); at >= 0 {
				again = tests[at : at+1]
			}
			if out, err = p.run(ctx, mutant, again); err != nil {
				return "", err
			}
			if out != nil {
				return cmp.Or(by, "what the tests leave behind"), nil
			}
			if tests = slices.DeleteFunc(tests, called); by == "" {
				break
			}
		}
	}
	return "", nil
}

var (
	failedTest  = regexp.MustCompile(`(?m)^--- FAIL: ([^\s/]+)`)
	startedTest = regexp.MustCompile(`(?m)^=== (?:RUN|CONT)\s+([^\s/]+)`)
)

// failing is the test that a program says has failed, or the last that began if the
// program panicked. It is "" if all passed and something remains.
func failing(out []byte) string {
	if m := failedTest.FindSubmatch(out); m != nil {
		return string(m[1])
	}
	all := startedTest.FindAllSubmatch(out, -1)
	if len(all) == 0 || bytes.Contains(out, []byte("\nPASS\n")) {
		return ""
	}
	return string(all[len(all)-1][1])
}

// runAll runs the tests with each mutant. It passes the name of the test that fails to
// took, or "" if none does, one mutant at a time.
func (t *ownTests) runAll(ctx context.Context, mutants []*Mutant, took func(m *Mutant, by string) error) error {
	var mu sync.Mutex
	return t.each(ctx, len(mutants), func(ctx context.Context, n int) error {
		by, err := t.kills(ctx, mutants[n].number)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		return took(mutants[n], by)
	})
}

// each calls do with every number below n, on all workers. It stops at the first error,
// or when ctx ends, and returns that.
func (t *ownTests) each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	queue := make(chan int)
	var all sync.WaitGroup
	for range t.workers {
		all.Go(func() {
			for i := range queue {
				if err := do(ctx, i); err != nil {
					stop(err)
				}
			}
		})
	}
	for i := 0; i < n && ctx.Err() == nil; i++ {
		queue <- i
	}
	close(queue)
	all.Wait()
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("test mutants: %w", err)
	}
	return nil
}
