package processes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/holdfast-go/holdfast/internal/adapter"
	"github.com/holdfast-go/holdfast/internal/must"
)

// role makes the test binary a client process that does what the value says.
const role = "HOLDFAST_PROCESSES_TEST_ROLE"

func TestMain(m *testing.M) {
	if how := os.Getenv(role); how != "" {
		os.Exit(act(how))
	}
	// The thread that starts processes has to live as long as the process.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/holdfast-go/holdfast/internal/live/processes.startLoop"))
}

func act(how string) int {
	switch how {
	case "greets":
		fmt.Println("hello")
	case "deaf":
		os.Stdout.Close()
	case "dies":
		_, _ = io.Copy(io.Discard, io.LimitReader(os.Stdin, 1)) // the hello has come
		fmt.Fprintln(os.Stderr, strings.Repeat("words\n", 30000)+"panic: out of luck")
		return 3
	}
	time.Sleep(time.Minute)
	return 0
}

// play starts this binary with a role, in a directory of its own.
func play(t *testing.T, how string) (p *Process, dir string) {
	t.Helper()
	exe, err := os.Executable()
	must.Succeed(t, err)
	return run(t, []string{exe}, role+"="+how)
}

// run starts a process that ends with the test.
func run(t *testing.T, argv []string, env ...string) (p *Process, dir string) {
	t.Helper()
	if !tied {
		t.Skip("not tried: processes are started on Linux only")
	}
	dir = t.TempDir()
	p, err := Start("client-1", dir, argv, env)
	must.Succeed(t, err)
	t.Cleanup(func() {
		must.Succeed(t, p.End())
		p.Over()
	})
	return p, dir
}

func shortly(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}

// A process that ends by itself must be noticed, with what it had to say.
func TestProcessThatDies(t *testing.T) {
	t.Parallel()
	p, _ := play(t, "dies")
	if _, err := p.Conversation().Hello(shortly(t), adapter.Hello{}); !errors.Is(err, adapter.ErrEnded) {
		t.Errorf("hello: %v", err)
	}
	var died *Error
	if err := p.Wait(shortly(t)); !errors.As(err, &died) || !strings.Contains(err.Error(), "exit status 3") {
		t.Fatalf("got %v", err)
	}
	if !strings.HasSuffix(died.Stderr, "words\n\npanic: out of luck") && !strings.HasSuffix(died.Stderr, "panic: out of luck") || len(died.Stderr) > mostTail {
		t.Errorf("its stderr has %d bytes and ends with %q", len(died.Stderr), died.Stderr[max(0, len(died.Stderr)-50):])
	}
	if p.Crashed() {
		t.Error("it counts as crashed by a fault")
	}
}

// A process that does not speak the protocol must not go on alone.
func TestProcessThatTalksNonsense(t *testing.T) {
	t.Parallel()
	p, _ := play(t, "greets")
	var wrong *adapter.ProtocolError
	if err := p.Wait(shortly(t)); !errors.As(err, &wrong) || wrong.Line != "hello" {
		t.Errorf("got %v", err)
	}
}

func TestProcessThatClosesItsOutput(t *testing.T) {
	t.Parallel()
	p, _ := play(t, "deaf")
	if err := p.Wait(shortly(t)); !errors.Is(err, adapter.ErrEnded) {
		t.Errorf("got %v", err)
	}
}

// A run that is killed must be able to find the processes it had started.
func TestProcessLeavesItsPid(t *testing.T) {
	t.Parallel()
	p, dir := play(t, "greets")
	b, err := os.ReadFile(filepath.Join(dir, pidName))
	must.Succeed(t, err)
	id, err := identity(p.cmd.Process.Pid)
	must.Succeed(t, err)
	if want := fmt.Sprintf("%d %s\n", p.cmd.Process.Pid, id); string(b) != want {
		t.Errorf("noted %q, want %q", b, want)
	}
}
