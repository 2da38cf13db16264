package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/adapter"
)

// foreignClient is a lock in another runtime, behind the pipes of a process that speaks
// the adapter protocol.
type foreignClient struct {
	cmd     *exec.Cmd
	c       *adapter.Conversation
	version string
}

// openForeign starts a process for each client.
func openForeign(command, name string) func(context.Context, string, time.Duration) (client, error) {
	return func(ctx context.Context, addr string, lease time.Duration) (client, error) {
		f, err := startForeign(ctx, command, name, addr, lease)
		if err != nil {
			return nil, err // and no client: a nil *foreignClient would be one
		}
		return f, nil
	}
}

func startForeign(ctx context.Context, command, name, addr string, lease time.Duration) (*foreignClient, error) {
	args := strings.Fields(command)
	if len(args) == 0 {
		return nil, errors.New("its adapter is not built")
	}
	cmd := exec.Command(args[0], args[1:]...)
	tie(cmd)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := start(cmd); err != nil {
		return nil, fmt.Errorf("start its adapter: %w", err)
	}
	f := &foreignClient{cmd: cmd, c: adapter.New(name, in, out)}
	hello, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	ready, err := f.c.Hello(hello, adapter.Hello{
		Process: "bench", Lock: name, Seed: 1, LeaseNS: lease.Nanoseconds(),
		Redis: adapter.Access{Primaries: []string{addr}, Map: map[string]string{}},
	})
	if err != nil {
		return nil, errors.Join(err, f.close())
	}
	f.version = ready.Version
	return f, nil
}

func (f *foreignClient) acquire(ctx context.Context, name, owner string) (hold, error) {
	l := f.c.Locker(name, owner)
	if _, err := l.Lock(ctx); err != nil {
		return hold{}, err
	}
	return hold{release: func(ctx context.Context) error {
		_, err := l.Unlock(ctx)
		return err
	}}, nil
}

// close ends the process, if need be the hard way.
func (f *foreignClient) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_, _ = f.c.Finish(ctx)
	_ = f.c.Stop(ctx)
	f.c.End(errors.New("the benchmark is over"))
	kill := time.AfterFunc(5*time.Second, func() { _ = f.cmd.Process.Kill() })
	defer kill.Stop()
	_ = f.cmd.Wait() // however it went: the measurements are made
	return nil
}

// pipe is the median time of a request that the process answers by itself, in
// microseconds.
func (f *foreignClient) pipe(ctx context.Context, n int) (float64, error) {
	took := make([]float64, 0, n)
	for range n {
		at := time.Now()
		if _, err := f.c.Identity(ctx, "1"); err != nil {
			return 0, err
		}
		took = append(took, micros(time.Since(at)))
	}
	return median(took), nil
}
