package conform

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"github.com/holdfast-go/holdfast/internal/live/servers"
	"github.com/holdfast-go/holdfast/internal/live/servers/miniredis"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/testworker"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// The roles in which the test binary is started again.
const (
	serverRole = "miniredis"
	workerRole = "worker"
)

func TestMain(m *testing.M) {
	logging.Disable()
	if len(os.Args) == 3 {
		switch os.Args[1] {
		case serverRole:
			ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
			err := miniredis.Serve(ctx, os.Args[2], os.Stdout)
			stop()
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			return
		case workerRole:
			os.Exit(testworker.Main(os.Args[2]))
		}
	}
	os.Exit(m.Run())
}

// checked checks the adapter for tests, with a mistake, on miniredis.
func checked(t *testing.T, mistake string, o Options) Report {
	t.Helper()
	exe, err := os.Executable()
	must.Succeed(t, err)
	o.Command = []string{exe, workerRole, mistake}
	if o.Backend.Name() != servers.Redis || o.Backend.Available() != nil {
		o.Backend = servers.Backend{Miniredis: []string{exe, serverRole}}
	}
	o.Dir = t.TempDir()
	r, err := Check(t.Context(), o)
	if err != nil {
		t.Errorf("%s: %v", mistake, err)
	}
	return r
}

// those lists the checks that came out so, with their reasons.
func those(r Report, s Status) (names []string, reasons string) {
	for _, one := range r.all() {
		if one.Status == s {
			names = append(names, one.Check)
			reasons += fmt.Sprintf("%s: %s\n", one.Check, one.Reason)
		}
	}
	return names, reasons
}

// An adapter that keeps to the contract passes, on whatever servers there are.
func TestConforming(t *testing.T) {
	began := time.Now()
	var heard []string
	r := checked(t, "", Options{Lease: time.Second, Heard: func(lock *locks.Description, r Result) { heard = append(heard, r.Check) }})
	if _, failed := those(r, Failed); failed != "" {
		t.Error(failed)
	}
	if names, _ := those(r, NotTried); len(names) > 0 {
		t.Errorf("not tried: %v", names)
	}
	if names, _ := those(r, NotClaimed); !slices.Equal(names, []string{"fairness"}) {
		t.Errorf("not claimed: %v", names)
	}
	if !slices.Equal(heard, Names()) {
		t.Errorf("heard of %v", heard)
	}
	t.Logf("it takes %s", time.Since(began))
}

// A semaphore passes as well, and a check that needs a held lock finds all permits taken.
func TestSemaphore(t *testing.T) {
	r := checked(t, testworker.Semaphore, Options{Lease: time.Second})
	if names, failed := those(r, Failed); len(names) > 0 {
		t.Error(failed)
	}
	if names, _ := those(r, OK); !slices.Contains(names, "busy") || !slices.Contains(names, "waits") {
		t.Errorf("ok: %v", names)
	}
}

// Every mistake is found by the check that is about it, and by no other that could have
// been carried out; the reason names the adapter's mistake.
func TestMistakes(t *testing.T) {
	cheap := []string{"identity", "key", "busy", "owners", "not-held", "unknown-request", "fencing", "waits", "handoff", "meanwhile", "cancel", "cancels", "canceled-before", "takes-back", "finish", "stop"}
	type mistaken struct {
		fails  []string // in order
		says   string
		checks []string // that are carried out; nil for what is quick
		lease  time.Duration
	}
	// wrong says how what the checks find differs from what they should find.
	wrong := func(mistake string, c mistaken, patience time.Duration) string {
		r := checked(t, mistake, Options{Patience: patience, Checks: c.checks, Lease: c.lease})
		names, reasons := those(r, Failed)
		if slices.Equal(names, c.fails) && strings.Contains(reasons, c.says) {
			return ""
		}
		return fmt.Sprintf("with the mistake %q %v fail, want %v and %q:\n%s", mistake, names, c.fails, c.says, reasons)
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	again := map[string]mistaken{}
	turn := make(chan struct{}, 10)
	for mistake, c := range map[string]mistaken{
		"banner":         {[]string{"describe"}, "Welcome to golock 1.0", nil, 0},
		"odd-name":       {[]string{"describe"}, "lower case letters", nil, 0},
		"mute":           {[]string{"describe"}, "not answered within", nil, 0},
		"stop-fails":     {[]string{"stop-first", "stop"}, "exit status 3", []string{"stop-first", "stop"}, 0},
		"any-version":    {[]string{"other-protocol"}, "holdfast-worker/9", []string{"other-protocol"}, 0},
		"hello-silent":   {[]string{"hello"}, "hello, request 1 to client-1, is not answered within", nil, 0},
		"hello-dies":     {[]string{"hello"}, "panic: out of luck", nil, 0},
		"hello-garbage":  {[]string{"hello"}, "WARNING: this is deprecated", nil, 0},
		"silent":         {[]string{"acquire-release"}, " to client-1, is not answered within", nil, 0},
		"dies":           {[]string{"acquire-release"}, "exit status 3", nil, 0},
		"garbage":        {[]string{"acquire-release"}, "WARNING: this is deprecated", nil, 0},
		"count":          {[]string{"acquire-release"}, "has the count 7", nil, 0},
		"same-identity":  {[]string{"identity", "key"}, `are both "me:1"`, nil, 0},
		"twice":          {[]string{"cancel", "cancels"}, "no request", nil, 0},
		"other-key":      {[]string{"key"}, `have the key "elsewhere:check-`, nil, 0},
		"shared-threads": {[]string{"identity", "owners"}, "while another owner holds the lock", []string{"identity", "busy", "owners"}, 0},
		"vague":          {[]string{"not-held"}, "does not hold the lock, and its release is answered with", []string{"not-held"}, 0},
		"no-dance":       {[]string{"unknown-request"}, "asked to dance", nil, 0},
		"strict":         {[]string{"unknown-fields"}, "exit status 3", []string{"unknown-fields"}, 0},
		"same-token":     {[]string{"fencing"}, "after the token 5 comes 5", nil, 0},
		"impatient":      {[]string{"waits"}, "was to wait 300ms", nil, 0},
		"uncancelled":    {[]string{"cancels"}, "is not answered within", nil, 0},
		"cancel-mute":    {[]string{"cancel", "cancels"}, "cancel, request", nil, 0},
		"leftovers":      {[]string{"finish"}, "its connections are not closed", nil, 0},
		"elsewhere":      {[]string{"addresses"}, "it is connected to 127.0.0.1:", []string{"addresses"}, 0},
		"deaf-to-end":    {[]string{"end-of-input"}, "it still runs", []string{"end-of-input"}, 0},
		"unrenewed":      {[]string{"renewal"}, `"ok":true`, []string{"explicit", "renewal", "lease"}, 0},
		"lease-denied":   {[]string{"explicit"}, "asked for a lease of 1s", []string{"explicit", "renewal", "lease"}, 0},
		"unsigned":       {[]string{"lost-sign"}, "nothing tells of the loss", []string{"lost-sign"}, time.Second},
	} {
		if c.checks == nil {
			c.checks = cheap
		}
		all.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			began := time.Now()
			// The harness waits for every missing answer, so this is short.
			if why := wrong(mistake, c, time.Second); why != "" {
				t.Log(why)
				mu.Lock()
				again[mistake] = c
				mu.Unlock()
			}
			t.Logf("%-15s %s", mistake, time.Since(began))
		})
	}
	all.Wait()
	// A busy machine lets the checks find more than there is. Checks that were wrong
	// among ten others must be right alone.
	for mistake, c := range again {
		why := ""
		for range 3 {
			if why = wrong(mistake, c, 5*time.Second); why == "" {
				break
			}
		}
		if why != "" {
			t.Error(why)
		}
	}
}

// The sentences are the contract's own.
func TestSentences(t *testing.T) {
	b, err := os.ReadFile("../../../docs/adapter-protocol.md")
	must.Succeed(t, err)
	page := strings.Join(strings.Fields(string(b)), " ")
	for _, c := range slices.Concat(workerChecks(nil), quickChecks, leaseChecks, lastChecks) {
		if !strings.Contains(page, c.contract) {
			t.Errorf("%s: the page does not say %q", c.name, c.contract)
		}
	}
}
