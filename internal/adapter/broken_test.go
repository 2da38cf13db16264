package adapter

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// script plays a process by hand: it answers the hello, and then every request
// with what reply says, "" for the end of the process.
func script(t *testing.T, reply func(r request) string) *Conversation {
	t.Helper()
	requests, toWorker := io.Pipe()
	fromWorker, replies := io.Pipe()
	c := New("client-1", toWorker, fromWorker)
	t.Cleanup(func() { c.End(errors.New("the test is over")) })
	go func() {
		defer replies.Close()
		defer requests.Close()
		for in := bufio.NewScanner(requests); in.Scan(); {
			var r request
			if err := json.Unmarshal(in.Bytes(), &r); err != nil {
				return
			}
			out := reply(r)
			if r.Do == doHello && out == "" {
				out = fmt.Sprintf(`{"id":%d,"ok":true,"protocol":%q}`, r.ID, Protocol)
			} else if out == "" {
				return
			}
			if _, err := io.WriteString(replies, out+"\n"); err != nil {
				return
			}
		}
	}()
	if _, err := c.Hello(bounded(t), Hello{}); err != nil {
		t.Fatal(err)
	}
	return c
}

// A process that does not speak the protocol must fail every open call and every later
// one, with what it wrote. No answer may be guessed: a grant that was none would be a
// finding against an innocent lock.
func TestGarbage(t *testing.T) {
	for name, c := range map[string]struct{ line, says string }{
		"text":              {"WARNING: deprecated", "WARNING: deprecated"},
		"number":            {"7", "no message"},
		"array":             {"[]", "no message"},
		"wrong type":        {`{"id":2,"ok":"yes"}`, "no message"},
		"no id":             {`{"ok":true,"count":1}`, `needs the "id"`},
		"unknown id":        {`{"id":99,"ok":true,"count":1}`, "no request 99 is open"},
		"answered before":   {`{"id":1,"ok":true,"count":1}`, "no request 1 is open"},
		"neither":           {`{"id":2,"count":1}`, "either"},
		"both":              {`{"id":2,"ok":true,"errors":["busy"],"count":1}`, "either"},
		"unknown class":     {`{"id":2,"errors":["taken"]}`, `"taken" is not a class`},
		"grant of nothing":  {`{"id":2,"ok":true}`, "count"},
		"negative":          {`{"id":2,"ok":true,"count":-1}`, "negative"},
		"hold from nowhere": {`{"id":2,"ok":true,"count":1,"hold":9}`, "later"},
		"unknown event":     {`{"event":"renewed","lock":"stock","hold":2}`, "not an event"},
		"event of nobody":   {`{"event":"lost","lock":"other","hold":2}`, "no owner has that hold"},
		"event and reply":   {`{"id":2,"event":"lost","lock":"stock","hold":2}`, "both"},
		"too long":          {strings.Repeat("x", maxLine+1), "longer than"},
	} {
		t.Run(name, func(t *testing.T) {
			conv := script(t, func(r request) string {
				if r.Do == doAcquire {
					return c.line
				}
				return ""
			})
			l := conv.Locker("stock", "1")
			_, err := l.TryLock(t.Context())
			var wrong *ProtocolError
			if !errors.As(err, &wrong) || !errors.Is(err, lock.ErrUnknown) {
				t.Fatalf("got %v", err)
			}
			if !strings.Contains(err.Error(), c.says) || len(err.Error()) > 500 {
				t.Errorf("%q does not say %q", err, c.says)
			}
			if _, err := l.Unlock(t.Context()); !errors.As(err, &wrong) || errors.Is(err, lock.ErrUnknown) {
				t.Errorf("a later call: %v", err)
			}
			await(t, conv.Ended())
		})
	}
}

// A process that dies must leave no caller waiting, and the outcome open.
func TestDeathInTheMiddle(t *testing.T) {
	c := script(t, func(request) string { return "" })
	_, err := c.Locker("stock", "1").Lock(t.Context())
	if !errors.Is(err, ErrEnded) || !errors.Is(err, lock.ErrUnknown) {
		t.Errorf("the open call: %v", err)
	}
	if _, err := c.Finish(t.Context()); !errors.Is(err, ErrEnded) {
		t.Errorf("a later call: %v", err)
	}
	if err := c.Locker("stock", "1").Settle(t.Context()); !errors.Is(err, ErrEnded) {
		t.Errorf("a later settle: %v", err)
	}
}

// The last messages of a process that died count.
func TestLastWords(t *testing.T) {
	c := script(t, func(r request) string {
		if r.Do == doAcquire {
			return fmt.Sprintf(`{"id":%d,"ok":true,"count":1}`+"\n"+`{"id":`, r.ID)
		}
		return ""
	})
	if g, err := c.Locker("stock", "1").TryLock(t.Context()); err != nil || g.Count != 1 {
		t.Errorf("got %+v, %v", g, err)
	}
}

// A caller that learns of the end in another way, such as that the process was killed,
// must be able to say so.
func TestEnd(t *testing.T) {
	asked, over := make(chan bool), make(chan bool)
	defer close(over)
	c := script(t, func(r request) string {
		if r.Do == doAcquire {
			asked <- true
			<-over
		}
		return ""
	})
	got := make(chan error, 1)
	go func() {
		_, err := c.Locker("stock", "1").TryLock(context.Background())
		got <- err
	}()
	await(t, asked)
	killed := errors.New("killed")
	c.End(killed)
	c.End(errors.New("another reason"))
	if err := await(t, got); !errors.Is(err, killed) {
		t.Error(err)
	}
}

// A process that takes nothing and says nothing, as one that is paused, must keep no
// caller for longer than the context; what it says later is no garbage.
func TestSilence(t *testing.T) {
	go1 := make(chan bool)
	c := script(t, func(r request) string {
		if r.Do == doHello {
			return ""
		}
		<-go1
		return fmt.Sprintf(`{"id":%d,"ok":true,"identity":"me"}`, r.ID)
	})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	for range 1000 {
		if _, err := c.Identity(ctx, strings.Repeat("x", 1000)); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
	}
	close(go1)
	if id, err := c.Identity(bounded(t), "1"); err != nil || id != "me" {
		t.Errorf("after it went on: %q, %v", id, err)
	}
}

// A process of another version must be turned away by name.
func TestAnotherVersion(t *testing.T) {
	requests, toWorker := io.Pipe()
	fromWorker, replies := io.Pipe()
	c := New("client-1", toWorker, fromWorker)
	defer c.End(errors.New("the test is over"))
	go func() {
		bufio.NewScanner(requests).Scan()
		_, _ = io.WriteString(replies, `{"id":1,"ok":true,"protocol":"holdfast-worker/2","name":"x"}`+"\n")
	}()
	var wrong *ProtocolError
	if _, err := c.Hello(bounded(t), Hello{}); !errors.As(err, &wrong) || !strings.Contains(err.Error(), "holdfast-worker/2") {
		t.Errorf("got %v", err)
	}
}

// An adapter must end, and say why, when the harness dies or talks nonsense; what a later
// version adds to a request must not disturb it.
func TestServeEnds(t *testing.T) {
	hello := fmt.Sprintf(`{"id":1,"do":"hello","hello":{"protocol":%q,"process":"client-1"},"later":1}`+"\n", Protocol)
	for name, c := range map[string]struct{ in, says, out string }{
		"harness gone":   {hello, "the harness has gone", `"ok":true`},
		"no hello":       {`{"id":1,"do":"acquire"}` + "\n", "before a hello", ""},
		"twice":          {hello + hello, "greeted twice", `"ok":true`},
		"text":           {"hello\n", "no request", ""},
		"cut off":        {hello[:20], "unexpected EOF", ""},
		"too long":       {strings.Repeat(" ", maxLine+1), "longer than", ""},
		"version":        {`{"id":1,"do":"hello","hello":{"protocol":"holdfast-worker/9"}}` + "\n", "holdfast-worker/9", `"unsupported"`},
		"no id":          {`{"do":"stop"}` + "\n", "needs", ""},
		"empty hello":    {`{"id":1,"do":"hello"}` + "\n", "needs", ""},
		"unknown things": {hello + "\n\r\n" + `{"id":2,"do":"cancel","of":77,"why":[]}` + "\n", "the harness has gone", `{"id":2,"ok":true}`},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			err := Serve(t.Context(), strings.NewReader(c.in), &out, Program{Open: func(Hello) (Lock, error) { return &fake{}, nil }})
			if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(out.String(), c.out) {
				t.Errorf("it wrote %q and ended with %v", out.String(), err)
			}
		})
	}
}

// A request of a later version must not end this one.
func TestUnknownRequest(t *testing.T) {
	c := converse(t, &fake{})
	if _, err := c.ask(bounded(t), request{Do: "dance"}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("got %v", err)
	}
}

// FuzzDecode: no line may be taken for a reply and an error, or for a reply to
// nothing.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{"id":1,"ok":true,"count":1,"token":3}`, `{"id":2,"errors":["busy"],"message":"x"}`, `{"event":"lost","lock":"a","thread":"1","hold":3}`, `{"id":1e3}`, "[]", ""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := decode(line)
		if err != nil {
			return
		}
		if m.Event == "" && (m.ID <= 0 || m.OK == (len(m.Errors) > 0)) || m.Event != "" && m.ID != 0 {
			t.Errorf("%q is taken for %+v", line, m)
		}
		if _, err := json.Marshal(m); err != nil {
			t.Error(err)
		}
	})
}
