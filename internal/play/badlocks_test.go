package play

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// badLock is a lock under test that misbehaves as its functions say.
type badLock struct {
	acquire func(context.Context) error
}

func (b badLock) Lock(ctx context.Context, _ ...lock.AcquireOption) (lock.Grant, error) {
	return lock.Grant{Count: 1}, b.acquire(ctx)
}
func (b badLock) TryLock(ctx context.Context, _ ...lock.AcquireOption) (lock.Grant, error) {
	return b.Lock(ctx)
}
func (b badLock) Unlock(context.Context) (int, error) { return 0, nil }

type badSession struct{ l badLock }

func (s badSession) Locker(string, string) lock.Locker { return s.l }
func (s badSession) Identity(thread string) string     { return "x:" + thread }
func (s badSession) Close() error                      { return nil }

func TestALockThatMisbehavesGetsAVerdict(t *testing.T) {
	const yaml = `
scenario: bad
title: T
story: S
topology: {clients: 2}
workload: {holds: 1, lease: 1s, wait: 1s, think: 1ms, rest: 1ms}
otherwise: because
`
	s, err := scenarios.Parse("bad.yaml", []byte(yaml))
	must.Succeed(t, err)
	for _, tt := range []struct {
		name     string
		acquire  func(context.Context) error
		property checker.Property
		says     string
	}{
		{"panics", func(context.Context) error { panic("out of locks") }, checker.Progress, "out of locks"},
		{"never returns", func(context.Context) error { select {} }, checker.Progress, "never returned"},
		{"waits long past its wait", func(ctx context.Context) error { time.Sleep(time.Minute); return nil }, checker.Progress, ""},
		{"leaks a goroutine", func(context.Context) error { go func() { select {} }(); return nil }, checker.Cleanup, "goroutine"},
		{"returns an error of its own", func(context.Context) error { return errors.New("full moon") }, checker.Errors, "full moon"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bad, err := locks.NewThirdParty(locks.Description{Name: "bad", Claims: history.Claims{Waits: true}, HandoffNS: int64(100 * time.Millisecond)},
				func(locks.Environment) (locks.Session, error) { return badSession{badLock{tt.acquire}}, nil })
			must.Succeed(t, err)
			p, err := Simulate(s, bad, 1, "test")
			must.Succeed(t, err)
			r, err := checker.Judge(p.History, checker.Options{})
			must.Succeed(t, err)
			v := r.Verdicts[tt.property]
			if tt.says == "" {
				if v.Outcome == checker.OutcomeOK {
					t.Errorf("%s: %+v, want anything but ok", tt.property, v)
				}
				return
			}
			if v.Outcome != checker.Violated || !strings.Contains(v.Reason, tt.says) {
				t.Errorf("%s: %+v, want violated and %q", tt.property, v, tt.says)
			}
		})
	}
}
