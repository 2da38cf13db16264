package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/holdfast-go/holdfast/internal/testworker"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"holdfast": func() {
			if d, err := time.ParseDuration(os.Getenv("HOLDFAST_TEST_ADAPTER_START")); err == nil {
				adapterStart = d
			}
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
			code := run(ctx, os.Args[1:], os.Stdin, killing(os.Stdout), os.Stderr)
			stop()
			os.Exit(code)
		},
		// golock [MISTAKE]: a worker with a lock, see package testworker.
		"golock": func() { os.Exit(testworker.Main(strings.Join(os.Args[1:], " "))) },
	})
}

// TestScripts runs the command as a user would; one script per command.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		// BARE is a PATH without any program.
		Setup: func(env *testscript.Env) error {
			exe, err := exec.LookPath("holdfast")
			env.Setenv("BARE", filepath.Dir(exe))
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			// appears FILE: waits until the file exists.
			"appears": func(ts *testscript.TestScript, _ bool, args []string) {
				for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
					if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
						return
					}
				}
				ts.Fatalf("%s did not appear within a minute", args[0])
			},
			// json FILE SCHEMA: the file is one JSON document with this schema.
			"json": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) != 2 {
					ts.Fatalf("usage: json FILE SCHEMA")
				}
				var doc struct {
					Schema string `json:"schema"`
				}
				if err := json.Unmarshal([]byte(ts.ReadFile(args[0])), &doc); err != nil || doc.Schema != args[1] {
					ts.Fatalf("%s: schema %q, %v", args[0], doc.Schema, err)
				}
			},
			"longhistory": scriptLongHistory,
			"same":        scriptSame,
			"cut":         scriptCut,
			// status CODE[,CODE] COMMAND...: the command ends with one of these
			// codes. Real time has two, because a busy machine may decide
			// nothing.
			"status": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) < 2 {
					ts.Fatalf("usage: status CODE[,CODE ...] COMMAND [ARG ...]")
				}
				want := strings.Split(args[0], ",")
				err := ts.Exec(args[1], args[2:]...)
				got := "exit status 0"
				if err != nil {
					got = err.Error()
				}
				if !slices.Contains(want, strings.TrimPrefix(got, "exit status ")) {
					ts.Fatalf("%v: %s, want exit status %s", args[1:], got, args[0])
				}
			},
		},
	})
}
