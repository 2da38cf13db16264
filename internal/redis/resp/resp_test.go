package resp_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/holdfast-go/holdfast/internal/redis/resp"
)

// appendValue writes a value as a server does.
func appendValue(b []byte, v resp.Value) []byte {
	n := len(v.Items)
	switch v.Kind {
	case '$', '=', '!':
		if v.Null {
			return append(b, v.Kind, '-', '1', '\r', '\n')
		}
		return fmt.Appendf(b, "%c%d\r\n%s\r\n", v.Kind, len(v.Text), v.Text)
	case '%':
		n /= 2
		fallthrough
	case '*', '~', '>':
		if v.Null {
			n = -1
		}
		b = fmt.Appendf(b, "%c%d\r\n", v.Kind, n)
		for _, item := range v.Items {
			b = appendValue(b, item)
		}
		return b
	}
	return fmt.Appendf(b, "%c%s\r\n", v.Kind, v.Text)
}

// values are any that a server may send.
func values(depth int) *rapid.Generator[resp.Value] {
	return rapid.Custom(func(t *rapid.T) resp.Value {
		kinds := []byte("+-:,#(_$=!*~>%")
		if depth == 0 {
			kinds = kinds[:10]
		}
		v := resp.Value{Kind: rapid.SampledFrom(kinds).Draw(t, "kind")}
		switch v.Kind {
		case '_':
			v.Null = true
		case '$', '=', '!':
			v.Text = string(rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "string"))
		case '*', '~', '>', '%':
			v.Items = rapid.SliceOfN(values(depth-1), 0, 4).Draw(t, "items")
			if v.Kind == '%' {
				v.Items = v.Items[:len(v.Items)&^1]
			}
		default:
			v.Text = rapid.StringMatching(`[ -~]{0,20}`).Draw(t, "line")
		}
		if (v.Kind == '$' || v.Kind == '*') && rapid.Bool().Draw(t, "null") {
			v = resp.Value{Kind: v.Kind, Null: true}
		}
		return v
	})
}

// A fragment must not pass for a frame, nor two frames in one packet for one,
// and what was written is read again.
func TestValuesAreReadAsTheyWereWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(values(3), 1, 5).Draw(t, "values")
		var stream []byte
		for _, v := range want {
			stream = appendValue(stream, v)
		}
		var cut, read []resp.Value
		var s resp.Splitter
		for part := range slices.Chunk(stream, rapid.IntRange(1, len(stream)).Draw(t, "size")) {
			for _, p := range s.Split(part) {
				v, err := resp.Parse(p.Data)
				if err != nil || !p.Taken {
					t.Fatalf("%q, taken %v: %v", p.Data, p.Taken, err)
				}
				cut = append(cut, v)
			}
		}
		in := bufio.NewReader(iotest.HalfReader(bytes.NewReader(stream)))
		for range want {
			v, err := resp.Read(in)
			if err != nil {
				t.Fatalf("read %q: %v", stream, err)
			}
			read = append(read, v)
		}
		if diff := cmp.Diff(want, cut, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("split (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(want, read, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("read (-want +got):\n%s", diff)
		}
		if _, err := resp.Read(in); err != io.EOF {
			t.Errorf("the end of the stream reads as %v", err)
		}
	})
}

func TestRequestsAreReadAsTheyWereWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.String(), 1, 5).Draw(t, "args")
		sent := resp.AppendRequest(nil, want...)
		got, err := resp.ReadRequest(bufio.NewReader(bytes.NewReader(sent)))
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("%q is read as %q: %v", sent, got, err)
		}
	})
}

func TestWhatIsNoRequestIsRefused(t *testing.T) {
	for _, sent := range []string{"", "GET k\r\n", "+OK\r\n", "*0\r\n", "*-1\r\n", "*1\r\n:1\r\n", "*1\r\n$-1\r\n", "*2\r\n$1\r\na\r\n"} {
		if got, err := resp.ReadRequest(bufio.NewReader(strings.NewReader(sent))); err == nil {
			t.Errorf("%q is read as %q", sent, got)
		}
	}
}

func TestRepliesOfServersAreRead(t *testing.T) {
	attributed, err := resp.Parse([]byte("|1\r\n+ttl\r\n:3600\r\n$1\r\nx\r\n"))
	if err != nil || attributed.Kind != '$' || attributed.Text != "x" {
		t.Errorf("a value with attributes is read as %+v, %v", attributed, err)
	}
	for _, refused := range []string{"-ERR no\r\n", "!6\r\nERR no\r\n"} {
		if v, err := resp.Parse([]byte(refused)); err != nil || v.Err() != resp.Error("ERR no") {
			t.Errorf("%q is read as %+v, %v", refused, v, err)
		}
	}
	for _, wrong := range []string{
		"", "+OK", "+OK\n", "\r\n", "?1\r\n", "$x\r\n", "$5\r\nab\r\n", "$1\r\nabc", "*2\r\n:1\r\n", "$999999999999\r\n",
		"*999999999999\r\n", "*536870912\r\n", "+a\r\n+b\r\n",
	} {
		if got, err := resp.Parse([]byte(wrong)); err == nil {
			t.Errorf("%q is read as %+v", wrong, got)
		}
	}
}

// A toxic that is taken off in the middle of a frame passes its bytes on. The rest of
// that frame must not pass for another one.
func TestTheRestOfATakenFrameStaysInTheStream(t *testing.T) {
	var s resp.Splitter
	if got := s.Split([]byte("+OK\r\n*1\r\n$4\r\nPI")); len(got) != 1 {
		t.Errorf("got %+v", got)
	}
	if got := string(s.Rest()); got != "*1\r\n$4\r\nPI" {
		t.Errorf("the rest is %q", got)
	}
	got := s.Split([]byte("NG\r\n+OK\r\n"))
	if len(got) != 2 || got[0].Taken || string(got[0].Data) != "NG\r\n" || string(got[1].Data) != "+OK\r\n" {
		t.Errorf("then comes %+v", got)
	}
}

func TestAHeadSaysHowAFrameBegins(t *testing.T) {
	long := strings.Repeat("x", 100)
	for frame, want := range map[string]resp.Head{
		"+OK\r\n": {Kind: '+'}, "PING\r\n": {Kind: 'P'}, "*0\r\n": {Kind: '*'},
		"*2\r\n$3\r\nGET\r\n$1":     {Kind: '*', Len: 2, First: "GET"},
		">3\r\n+message\r\n":        {Kind: '>', Len: 3, First: "message"},
		"*1\r\n$100\r\n" + long:     {Kind: '*', Len: 1},
		"*1\r\n" + long:             {Kind: '*', Len: 1},
		"*1\r\n*1\r\n$1\r\na\r\n":   {Kind: '*', Len: 1},
		">2\r\n_\r\n$1\r\na\r\n":    {Kind: '>', Len: 2},
		"*x\r\n$3\r\nGET\r\n$1\r\n": {Kind: '*'},
	} {
		if got, known := resp.ParseHead([]byte(frame)); !known || got != want {
			t.Errorf("%q begins with %+v, known %v", frame, got, known)
		}
	}
	for _, partial := range []string{"*", "*2\r", "*2\r\n", "*2\r\n$3\r\nGET", "*2\r\n$3\r\nGET\r"} {
		if got, known := resp.ParseHead([]byte(partial)); known {
			t.Errorf("%q begins with %+v", partial, got)
		}
	}
}

// FuzzSplitter holds for any bytes at all. Nothing is lost or added, fragments do not
// matter, and every frame that is read can be written.
func FuzzSplitter(f *testing.F) {
	f.Add([]byte("+OK\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\n>3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$0\r\n\r\n"), uint64(1))
	f.Add([]byte("%1\r\n+a\r\n:1\r\n|1\r\n+ttl\r\n:3600\r\n$-1\r\n_\r\n"), uint64(2))
	f.Add([]byte("\n\n*99999999999999999999\r\n$-5\r\n*3\r\n\n|1\r\n$5\r\n*3\r\n$\r\n*3"), uint64(3))
	f.Fuzz(func(t *testing.T, in []byte, seed uint64) {
		var whole, parts resp.Splitter
		random := rand.New(rand.NewPCG(seed, 0))
		var got []resp.Piece
		for rest := in; len(rest) > 0; {
			n := min(1+random.IntN(8), len(rest))
			got = append(got, parts.Split(rest[:n])...)
			rest = rest[n:]
		}
		want := whole.Split(in)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("fragments matter (-whole +parts):\n%s", diff)
		}
		var all []byte
		for _, p := range got {
			all = append(all, p.Data...)
			v, err := resp.Parse(p.Data)
			if err != nil {
				continue
			}
			again, err := resp.Parse(appendValue(nil, v))
			if err != nil || !cmp.Equal(v, again, cmpopts.EquateEmpty()) {
				t.Fatalf("%q is read as %+v, and written and read again as %+v, %v", p.Data, v, again, err)
			}
		}
		if all = append(all, parts.Rest()...); !bytes.Equal(all, in) {
			t.Fatalf("%q came out of %q", all, in)
		}
	})
}
