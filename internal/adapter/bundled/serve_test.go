package bundled

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/adapter"
	"github.com/holdfast-go/holdfast/internal/must"
)

// The author of a server in another language has nothing but the page.
func TestOrdersDocs(t *testing.T) {
	b, err := os.ReadFile("../../../docs/adapter-protocol.md")
	must.Succeed(t, err)
	page, seen := string(b), 0
	for line := range strings.Lines(page) {
		if out, ok := strings.CutPrefix(line, "    >> "); ok {
			checkStrict(t, out, new(Order))
			seen++
		} else if in, ok := strings.CutPrefix(line, "    << "); ok {
			checkStrict(t, in, new(Answer))
		}
	}
	if seen == 0 {
		t.Error("there is no example")
	}
	for _, do := range []string{Start, Status, Lead, Promote, Follow, Keys, Delete} {
		if !strings.Contains(page, "| `"+do+"`") {
			t.Errorf("the page does not have the order %q", do)
		}
	}
}

func checkStrict(t *testing.T, line string, into any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		t.Errorf("%s: %v", line, err)
	}
}

// fake is a server that notes what is asked of it.
type fake struct {
	asked   []string
	failed  chan error
	refuses error // what Start returns
}

func (f *fake) note(what string) { f.asked = append(f.asked, what) }

func (f *fake) Start(context.Context) error {
	f.note("start")
	return f.refuses
}

func (f *fake) HandOver(_ context.Context, to string) error {
	f.note("hand over to " + to)
	return nil
}

func (f *fake) Keys(context.Context) ([]string, error) { return []string{"stock/1"}, nil }

func (f *fake) Delete(_ context.Context, lock string) error {
	return errors.New("no owner holds " + lock)
}

func (f *fake) Failed() <-chan error { return f.failed }
func (f *fake) Stop()                { f.note("stop") }

type electing struct{ fake }

func (e *electing) Leadership(context.Context) (Leadership, error) {
	return Leadership{Leader: "node-1", Term: 2}, nil
}

type promoted struct{ fake }

func (p *promoted) Promote(context.Context) error {
	p.note("promote")
	return nil
}

func (p *promoted) Follow(_ context.Context, leader string) error {
	p.note("follow " + leader)
	return nil
}

const started = `{"id":1,"do":"start","server":{"name":"node-1"}}` + "\n"

// A server answers each order with its id, and says in words what it cannot do. The
// harness ends a run that waits for an answer.
func TestServe(t *testing.T) {
	elects, leads := &electing{}, &promoted{}
	for _, c := range []struct {
		name   string
		server Server
		in     string
		out    []string
		asked  func() []string
		want   []string
	}{
		{
			"a server that elects", elects,
			`{"id":2,"do":"status"}{"id":3,"do":"lead","to":"node-2"}{"id":4,"do":"keys"}{"id":5,"do":"delete","lock":"stock"}{"id":6,"do":"promote"}{"id":7,"do":"dance"}`,
			[]string{
				`{"id":1,"ok":true}`, `{"id":2,"ok":true,"lead":"node-1","term":2}`, `{"id":3,"ok":true}`, `{"id":4,"ok":true,"keys":["stock/1"]}`,
				`{"id":5,"error":"delete: no owner holds stock"}`, `{"id":6,"error":"promote: this server has no such order"}`,
				`{"id":7,"error":"dance: this server has no such order"}`,
			},
			func() []string { return elects.asked }, []string{"start", "hand over to node-2", "stop"},
		},
		{
			"a server that is promoted", leads,
			`{"id":2,"do":"promote"}{"id":3,"do":"follow","to":"node-2"}{"id":4,"do":"status"}`,
			[]string{`{"id":1,"ok":true}`, `{"id":2,"ok":true}`, `{"id":3,"ok":true}`, `{"id":4,"error":"status: this server has no such order"}`},
			func() []string { return leads.asked }, []string{"start", "promote", "follow node-2", "stop"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := serve(t.Context(), strings.NewReader(started+c.in), &out, func(s Settings) (Server, error) {
				if s.Name != "node-1" {
					t.Errorf("opened with %+v", s)
				}
				return c.server, nil
			}); err != nil {
				t.Error(err)
			}
			if got := strings.Split(strings.TrimSpace(out.String()), "\n"); !slices.Equal(got, c.out) {
				t.Errorf("answered\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.out, "\n"))
			}
			if got := c.asked(); !slices.Equal(got, c.want) {
				t.Errorf("asked to %q, want %q", got, c.want)
			}
		})
	}
}

// A server that does not start, that fails, or that reads garbage ends with an error.
func TestServeFails(t *testing.T) {
	errNo := errors.New("no")
	failed := make(chan error, 1)
	failed <- errNo
	for _, c := range []struct {
		name   string
		in     string
		server fake
		want   string
	}{
		{"no order", "", fake{}, "read the first order: EOF"},
		{"another first order", `{"id":1,"do":"keys"}`, fake{}, `the first order is "keys", and must be "start" with the settings of a server`},
		{"no start", started, fake{refuses: errNo}, "no"},
		{"garbage", started + "garbage", fake{}, "read an order: invalid character 'g' looking for beginning of value"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			err := serve(t.Context(), strings.NewReader(c.in), &out, func(Settings) (Server, error) { return &c.server, nil })
			if err == nil || err.Error() != c.want {
				t.Errorf("ended with %v, want %s", err, c.want)
			}
		})
	}
	in, more := io.Pipe()
	go func() { _, _ = io.WriteString(more, started) }()
	defer more.Close()
	err := serve(t.Context(), in, new(bytes.Buffer), func(Settings) (Server, error) { return &fake{failed: failed}, nil })
	if !errors.Is(err, errNo) {
		t.Errorf("a server that fails: %v", err)
	}
}

// The arguments choose the role.
func TestRunChoosesTheRole(t *testing.T) {
	f := &fake{}
	p := Program{Client: adapter.Program{}, Servers: map[string]func(Settings) (Server, error){"serve": func(Settings) (Server, error) { return f, nil }}}
	if err := p.Run(t.Context(), []string{"serve"}, strings.NewReader(started), new(bytes.Buffer)); err != nil || !slices.Equal(f.asked, []string{"start", "stop"}) {
		t.Errorf("a server: %v, %q", err, f.asked)
	}
	if err := p.Run(t.Context(), nil, strings.NewReader(""), new(bytes.Buffer)); err == nil || err.Error() != "read requests: the harness has gone" {
		t.Errorf("a client process without a harness: %v", err)
	}
	want := `unknown arguments ["help"]: a server is one of ["serve"], and a client process has none`
	if err := p.Run(t.Context(), []string{"help"}, strings.NewReader(""), new(bytes.Buffer)); err == nil || err.Error() != want {
		t.Errorf("other arguments: %v", err)
	}
}
