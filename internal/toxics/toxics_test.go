package toxics

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"
	"pgregory.net/rapid"

	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/redis/resp"
)

// conn is one direction of one connection with a toxic on it.
type conn struct {
	toxic toxics.Toxic
	in    chan *stream.StreamChunk
	stub  *toxics.ToxicStub
	piped chan struct{}

	got   []string
	at    []time.Duration
	ended chan struct{} // closed after the reader saw the end, or when the test asks for it
	eof   bool
	quit  chan struct{}
}

func open(t toxics.Toxic) *conn {
	c := &conn{toxic: t, in: make(chan *stream.StreamChunk), ended: make(chan struct{}), quit: make(chan struct{})}
	out := make(chan *stream.StreamChunk)
	c.stub = toxics.NewToxicStub(c.in, out)
	start := time.Now()
	go func() {
		defer close(c.ended)
		for {
			select {
			case x, ok := <-out:
				if !ok {
					c.eof = true
					return
				}
				c.got = append(c.got, string(x.Data))
				c.at = append(c.at, time.Since(start))
			case <-c.quit:
				return
			}
		}
	}()
	c.run()
	return c
}

func (c *conn) run() {
	c.piped = make(chan struct{})
	go func() {
		defer close(c.piped)
		c.toxic.Pipe(c.stub)
	}()
}

func (c *conn) send(data string) {
	c.in <- &stream.StreamChunk{Data: []byte(data), Timestamp: time.Now()}
}

// interrupt removes a toxic as a chain does.
func (c *conn) interrupt() {
	select {
	case c.stub.Interrupt <- struct{}{}:
		<-c.piped
	case <-c.piped:
	}
	synctest.Wait()
}

func (c *conn) all() string { return strings.Join(c.got, "") }

func (c *conn) close() {
	close(c.quit)
	<-c.ended
}

func TestHoldDeliversInOrderWhenTakenOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(new(Hold))
		for i := range 10 {
			c.send(fmt.Sprint(i))
			time.Sleep(time.Second)
		}
		if c.all() != "" {
			t.Fatalf("while on, %q got through", c.all())
		}
		c.interrupt()
		if got, want := c.all(), "0123456789"; got != want {
			t.Errorf("taken off: got %q, want %q", got, want)
		}
		c.close()
	})
}

func TestHoldKeepsTheEndOfTheStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(new(Hold))
		c.send("last words")
		close(c.in)
		time.Sleep(time.Minute)
		if c.eof || c.all() != "" {
			t.Fatal("the peer learned of the end through the partition")
		}
		c.interrupt()
		<-c.ended
		if !c.eof || c.all() != "last words" {
			t.Errorf("got %q, end %v", c.all(), c.eof)
		}
	})
}

// A chain interrupts its last toxic to append another one; the partition must
// not leak what it holds.
func TestManagedToxicSurvivesInterrupt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := new(Hold)
		var onDetach func()
		heal, err := hold.Manage(func() (func(), error) { return func() { onDetach() }, nil })
		must.Succeed(t, err)
		c := open(hold)
		c.send("a")
		c.interrupt()
		if c.all() != "" {
			t.Fatalf("%q leaked", c.all())
		}
		c.run()
		c.send("b")
		onDetach = func() {
			if !closed(c.piped) {
				c.interrupt()
			}
		}
		_ = heal()
		if c.all() != "ab" {
			t.Errorf("after heal: %q", c.all())
		}
		c.close()
	})
}

// A world may have forgotten a connection by the time of the heal; no
// goroutine may stay behind (synctest fails if one does).
func TestHealEndsForgottenConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := new(Hold)
		heal, _ := hold.Manage(func() (func(), error) { return func() {}, nil })
		read, unread := open(hold), open(hold)
		unread.close()
		for _, c := range []*conn{read, unread} {
			c.send("late")
			close(c.in)
		}
		_ = heal()
		<-read.piped
		<-unread.piped
		<-read.ended
		if read.all() != "late" || !read.eof {
			t.Errorf("got %q, end %v", read.all(), read.eof)
		}
	})
}

func TestDelayIsExactAndInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(&Delay{By: 300 * time.Millisecond})
		c.send("a")
		time.Sleep(100 * time.Millisecond)
		c.send("b")
		close(c.in)
		<-c.ended
		<-c.piped
		if got, want := fmt.Sprint(c.got, c.at), "[a b] [300ms 400ms]"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

func TestDelayHandsOnWhenTakenOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(&Delay{By: time.Hour})
		c.send("a")
		c.send("b")
		c.interrupt()
		if c.all() != "ab" {
			t.Errorf("got %q", c.all())
		}
		c.close()
	})
}

func TestDelayJitterReplays(t *testing.T) {
	run := func(seed uint64) (times []time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			c := open(&Delay{By: 50 * time.Millisecond, Jitter: 50 * time.Millisecond, Seed: seed})
			var want string
			for i := range 50 {
				want += fmt.Sprintf("%d,", i)
				c.send(fmt.Sprintf("%d,", i))
				time.Sleep(time.Millisecond)
			}
			close(c.in)
			<-c.ended
			if c.all() != want {
				t.Errorf("out of order: %s", c.all())
			}
			for i, at := range c.at {
				if sent := time.Duration(i) * time.Millisecond; at < sent || at > sent+100*time.Millisecond+50*time.Millisecond {
					t.Errorf("chunk %d sent at %v arrived at %v", i, sent, at)
				}
			}
			times = c.at
		})
		return times
	}
	one, again, other := fmt.Sprint(run(1)), fmt.Sprint(run(1)), fmt.Sprint(run(2))
	if one != again {
		t.Error("the same seed gave other delays")
	}
	if one == other {
		t.Error("two seeds gave the same delays")
	}
}

func TestBlackhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hole := new(Blackhole)
		c := open(hole)
		c.send("gone")
		c.interrupt()
		hole.Cleanup(c.stub)
		<-c.ended
		if c.all() != "" || !c.eof {
			t.Errorf("got %q, end %v", c.all(), c.eof)
		}
		c = open(hole)
		c.send("gone")
		close(c.in)
		<-c.ended
		<-c.piped
	})
}

func TestSlowSubscribe(t *testing.T) {
	const (
		get = "*2\r\n$3\r\nGET\r\n$1\r\na\r\n"
		sub = "*2\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n"
	)
	synctest.Test(t, func(t *testing.T) {
		c := open(&SlowSubscribe{By: time.Second})
		c.send(get)
		c.send(get + sub[:7])
		c.send(sub[7:] + get)
		time.Sleep(3 * time.Second)
		c.send(get)
		close(c.in)
		<-c.ended
		<-c.piped
		if want := get + get + sub + get + get; c.all() != want {
			t.Errorf("got  %q\nwant %q", c.all(), want)
		}
		if got, want := fmt.Sprint(c.at), "[0s 0s 1s 1s 3s]"; got != want {
			t.Errorf("times: got %s, want %s", got, want)
		}
	})
}

func TestSlowSubscribeHandsOnWhenTakenOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(&SlowSubscribe{By: time.Hour})
		c.send("*2\r\n$9\r\nSUBSCRIBE\r\n$1\r\nc\r\n*1\r\n$4\r\nPI")
		c.interrupt()
		if want := "*2\r\n$9\r\nSUBSCRIBE\r\n$1\r\nc\r\n*1\r\n$4\r\nPI"; c.all() != want {
			t.Errorf("got %q", c.all())
		}
		c.close()
	})
}

// A message cut by the toxic's removal is delivered whole.
func TestDropMessagesTakenOffInAMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(new(DropMessages))
		msg := string(message2("c", "x"))
		c.send(":1\r\n" + msg[:25])
		c.interrupt()
		if want := ":1\r\n" + msg[:25]; c.all() != want {
			t.Errorf("got %q, want %q", c.all(), want)
		}
		c.close()
	})
}

func TestDropMessages(t *testing.T) {
	const message = "\x00" // stands for a frame to be dropped
	frames := []string{
		"+OK\r\n", "-ERR no\r\n", ":42\r\n", "$-1\r\n", "*-1\r\n", "*0\r\n", "$0\r\n\r\n", "_\r\n", "#t\r\n",
		",3.14\r\n", "(123456789012345678901234567890\r\n", "=15\r\ntxt:Some string\r\n", "!5\r\nERR x\r\n",
		"%2\r\n+a\r\n:1\r\n+b\r\n*2\r\n:1\r\n:2\r\n", "~2\r\n+a\r\n+b\r\n",
		"|1\r\n+ttl\r\n:3600\r\n$1\r\nx\r\n",
		"*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n", ">3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n",
		"*4\r\n$8\r\npmessage\r\n$1\r\n*\r\n$1\r\nc\r\n$1\r\nx\r\n", "*3\r\n$8\r\nmessages\r\n$1\r\nc\r\n:1\r\n",
		"*2\r\n$7\r\nmessage\r\n$1\r\nx\r\n", "*1\r\n*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nx\r\n",
		bulk("*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nx\r\n"), bulk("\r\n>3\r\n$7\r\nmessage"),
		message,
	}
	rapid.Check(t, func(t *rapid.T) {
		var in, want bytes.Buffer
		for _, f := range rapid.SliceOf(rapid.SampledFrom(frames)).Draw(t, "frames") {
			if f != message {
				in.WriteString(f)
				want.WriteString(f)
				continue
			}
			payload := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "payload")
			if rapid.Bool().Draw(t, "resp3") {
				in.Write(message3("c", string(payload)))
			} else {
				in.Write(message2("c", string(payload)))
			}
		}
		cuts := rapid.SliceOf(rapid.IntRange(1, 20)).Draw(t, "cuts")
		if got := dropped(in.Bytes(), cuts); !bytes.Equal(got, want.Bytes()) {
			t.Fatalf("got  %q\nwant %q", got, want.Bytes())
		}
	})
}

// FuzzDropMessages: the fragmentation of the bytes never matters, and the output
// is a subsequence of the input.
func FuzzDropMessages(f *testing.F) {
	f.Add([]byte("+OK\r\n"+string(message2("c", "x"))+":1\r\n"+string(message3("c", "y"))), uint64(1))
	f.Add([]byte("$5\r\n*3\r\n$\r\n*3\r\n$7\r\nmes"), uint64(2))
	f.Add([]byte("\n\n*99999999999999999999\r\n$-5\r\n*3\r\n\n|1\r\n"), uint64(3))
	f.Fuzz(func(t *testing.T, in []byte, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 0))
		var cuts []int
		for range len(in) {
			cuts = append(cuts, 1+random.IntN(8))
		}
		whole, parts := dropped(in, nil), dropped(in, cuts)
		if !bytes.Equal(whole, parts) {
			t.Fatalf("whole %q\nparts %q", whole, parts)
		}
		rest := in
		for _, b := range whole {
			i := bytes.IndexByte(rest, b)
			if i < 0 {
				t.Fatalf("%q is not part of %q", whole, in)
			}
			rest = rest[i+1:]
		}
		if !bytes.Contains(in, []byte("message")) && len(whole) != len(in) {
			t.Fatalf("dropped something: %q of %q", whole, in)
		}
	})
}

// dropped sends the stream through the toxic in pieces of the given sizes, and
// the remainder in one.
func dropped(in []byte, cuts []int) []byte {
	s := resp.Splitter{Decide: isMessage}
	var out []byte
	take := func(b []byte) {
		for _, p := range s.Split(b) {
			if !p.Taken {
				out = append(out, p.Data...)
			}
		}
	}
	for _, n := range cuts {
		n = min(n, len(in))
		take(in[:n])
		in = in[n:]
	}
	take(in)
	return append(out, s.Rest()...)
}

func bulk(s string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(s), s) }

func message2(channel, payload string) []byte {
	return []byte("*3\r\n" + bulk("message") + bulk(channel) + bulk(payload))
}

func message3(channel, payload string) []byte {
	return []byte(">3\r\n" + bulk("message") + bulk(channel) + bulk(payload))
}

func closed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
