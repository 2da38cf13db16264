package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/playground"
	"github.com/holdfast-go/holdfast/internal/suite"
)

// The server plays in worker processes with the same results as the command, and
// ends with the signal that ends the command.
func TestThePlaygroundIsServed(t *testing.T) {
	exe, err := exec.LookPath("holdfast")
	must.Succeed(t, err)
	testOnlyWorker = exe
	defer func() { testOnlyWorker = "" }()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	said, stdout := io.Pipe()
	code := make(chan int, 1)
	go func() { code <- run(ctx, []string{"serve", "--port", "0"}, strings.NewReader(""), stdout, io.Discard) }()
	line, err := bufio.NewReader(said).ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "playground: http://127.0.0.1:")
	if err != nil || !ok {
		t.Fatalf("the first line is %q, %v", line, err)
	}
	answer, err := http.Post("http://127.0.0.1:"+url+"play", "application/json", strings.NewReader(`{"scenario":"failover-lost-write","lock":"reentrant","seed":1}`))
	must.Succeed(t, err)
	defer answer.Body.Close()
	var got playground.Response
	must.Succeed(t, json.NewDecoder(answer.Body).Decode(&got))
	want, err := suite.Run(t.Context(), suite.Options{Scenarios: []string{"failover-lost-write"}, Locks: []string{"reentrant"}})
	must.Succeed(t, err)
	if got.Hash == "" || got.Hash != want.Runs[0].HistorySHA256 {
		t.Errorf("hash %q, the command gives %s", got.Hash, want.Runs[0].HistorySHA256)
	}
	stop()
	if c := <-code; c != exitOK {
		t.Errorf("exit code %d", c)
	}
}
