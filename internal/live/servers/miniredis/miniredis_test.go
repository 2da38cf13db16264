package miniredis_test

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"go.uber.org/goleak"

	"github.com/holdfast-go/holdfast/internal/live/processes"
	"github.com/holdfast-go/holdfast/internal/live/servers/miniredis"
	"github.com/holdfast-go/holdfast/internal/must"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// limit bounds every wait.
const limit = 10 * time.Second

// serve runs a server that ends with the test.
func serve(t *testing.T) (addr string) {
	t.Helper()
	for range 20 { // until the port is still free when it is wanted
		free, err := processes.FreePort()
		must.Succeed(t, err)
		port := strconv.Itoa(free)
		addr = net.JoinHostPort("127.0.0.1", port)
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		conf := write(t, "bind 127.0.0.1\nport "+port+"\nmaxclients 1000\n")
		go func() { ended <- miniredis.Serve(ctx, conf, t.Output()) }()
		if !answers(addr, ended) {
			stop()
			continue
		}
		t.Cleanup(func() {
			stop()
			select {
			case err := <-ended:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(limit):
				t.Error("it does not end")
			}
		})
		return addr
	}
	t.Fatal("no port stays free")
	return ""
}

func write(t *testing.T, conf string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "redis.conf")
	must.Succeed(t, os.WriteFile(path, []byte(conf), 0o600))
	return path
}

func answers(addr string, ended <-chan error) bool {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if c, err := net.Dial("tcp4", addr); err == nil {
			c.Close()
			return true
		}
		select {
		case <-ended:
			return false
		default:
		}
	}
	return false
}

// client is a client whose connection is greeted.
func client(t *testing.T, addr string) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: addr, DisableIdentity: true, PoolSize: 1,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}})
	t.Cleanup(func() { c.Close() })
	must.Succeed(t, c.Ping(t.Context()).Err())
	return c
}

// listener is a connection that gets the reports.
type listener struct {
	t    *testing.T
	conn net.Conn
	in   *gob.Decoder
}

func listen(t *testing.T, addr string) listener {
	t.Helper()
	conn, err := net.Dial("tcp4", addr)
	must.Succeed(t, err)
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(limit))
	_, err = fmt.Fprintf(conn, "*1\r\n$%d\r\n%s\r\n", len(miniredis.TellCommand), miniredis.TellCommand)
	must.Succeed(t, err)
	return listener{t, conn, gob.NewDecoder(conn)}
}

func (l listener) next() miniredis.Report {
	l.t.Helper()
	var r miniredis.Report
	if err := l.in.Decode(&r); err != nil {
		l.t.Fatal(err)
	}
	return r
}

// until collects the reports before a mark.
func (l listener) until(mark string) (reports []miniredis.Report) {
	l.t.Helper()
	_, err := fmt.Fprintf(l.conn, "*2\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n", len(miniredis.MarkCommand), miniredis.MarkCommand, len(mark), mark)
	must.Succeed(l.t, err)
	for {
		r := l.next()
		if r.Mark == mark {
			return reports
		}
		reports = append(reports, r)
	}
}

func TestEveryRequestIsToldWithWhatItChanged(t *testing.T) {
	addr := serve(t)
	c := client(t, addr)
	ctx := t.Context()
	must.Succeed(t, c.Set(ctx, "before", "x\x00\xff", 0).Err())
	l := listen(t, addr)
	if first := l.next(); len(first.Holds) != 1 || first.Holds["before"].Str != "x\x00\xff" {
		t.Errorf("the first report is %+v", first)
	}
	begin := time.Now()
	must.Succeed(t, c.SetNX(ctx, "lock", "a", time.Minute).Err())
	must.Succeed(t, c.SetNX(ctx, "lock", "b", time.Minute).Err())
	end := time.Now()
	must.Succeed(t, c.Eval(ctx, "redis.call('del', KEYS[1]) redis.call('hset', KEYS[2], 'f', '1') return 1", []string{"lock", "hash"}).Err())
	_, err := c.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Del(ctx, "hash")
		p.Set(ctx, "before", "y", 0)
		return nil
	})
	must.Succeed(t, err)
	var got []string
	for i, r := range l.until("here") {
		if _, _, err := net.SplitHostPort(r.From); err != nil {
			t.Errorf("report %d comes from %q", i, r.From)
		}
		if r.Command == "HELLO" { // of the connection for transactions
			continue
		}
		var what []string
		for _, c := range r.Changes {
			what = append(what, c.Key+":"+c.Before.Type+c.Before.Str+">"+c.After.Type+c.After.Str)
			if c.Cause != "command" || !c.At.Equal(r.At) || !c.Now.Equal(r.At) {
				t.Errorf("report %d tells of %+v", i, c)
			}
		}
		if i == 0 && (r.At.Before(begin.Round(0)) || r.At.After(end.Round(0)) || r.Changes[0].After.ExpireAt.Sub(r.At) != time.Minute) {
			t.Errorf("a key that is taken for a minute between %s and %s is told as %+v", begin, end, r)
		}
		got = append(got, r.Command+" "+strings.Join(what, " "))
	}
	want := []string{
		"SET lock:>stringa", "SET ", "EVAL lock:stringa> hash:>hash",
		"MULTI ", "DEL ", "SET ", "EXEC hash:hash> before:stringx\x00\xff>stringy",
	}
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Errorf("told are\n%q, want\n%q", got, want)
	}
}

// attend starts a server, with a client and a listener that has heard what the server
// holds.
func attend(t *testing.T) (*redis.Client, listener) {
	t.Helper()
	addr := serve(t)
	c := client(t, addr) // whose greeting comes before the reports
	l := listen(t, addr)
	l.next()
	return c, l
}

// A waiter that looks again at the very moment must find what the truth says.
func TestAKeyEndsAtItsInstantThoughNobodyAsks(t *testing.T) {
	c, l := attend(t)
	must.Succeed(t, c.Set(t.Context(), "long", "a", 80*time.Millisecond).Err())
	must.Succeed(t, c.Set(t.Context(), "short", "a", 40*time.Millisecond).Err())
	ends := map[string]time.Time{}
	for len(ends) < 4 {
		r := l.next()
		for _, c := range r.Changes {
			if c.After.Exists() {
				ends[c.Key] = c.After.ExpireAt
				continue
			}
			if c.Cause != "expiry" || r.From != "" || !c.At.Equal(ends[c.Key]) || r.At.Before(c.At) {
				t.Errorf("%q was to end at %s, and is told as %+v", c.Key, ends[c.Key], r)
			}
			ends[c.Key+" ended"] = c.At
		}
	}
	// On a busy machine the second SET may come when the first key has ended.
	if ends["short ended"].Before(ends["long ended"]) != ends["short"].Before(ends["long"]) {
		t.Errorf("they ended at %v", ends)
	}
}

func TestAReplyComesAfterItWasTold(t *testing.T) {
	c, l := attend(t)
	for i := range 50 {
		must.Succeed(t, c.Set(t.Context(), "lock", i, 0).Err())
		if r := l.next(); len(r.Changes) != 1 || r.Changes[0].After.Str != fmt.Sprint(i) {
			t.Fatalf("write %d is told as %+v", i, r)
		}
	}
}

// A client that waits gets what another sends; a client that is gone takes nothing, and
// no client waits longer than asked.
func TestWhoWaitsIsServed(t *testing.T) {
	addr := serve(t)
	one, two, ctx := client(t, addr), client(t, addr), t.Context()
	l := listen(t, addr)
	l.next()
	begun := func(command string) {
		t.Helper()
		for l.next().Command != command {
		}
	}
	if err := one.Do(ctx, "blpop", "list", 0.01).Err(); !errors.Is(err, redis.Nil) {
		t.Errorf("a wait of 10 ms ends with %v", err)
	}
	begun("BLPOP")
	gone, err := net.Dial("tcp4", addr)
	must.Succeed(t, err)
	_, err = gone.Write([]byte("*3\r\n$5\r\nBLPOP\r\n$4\r\nlist\r\n$1\r\n0\r\n"))
	must.Succeed(t, err)
	begun("BLPOP")
	must.Succeed(t, gone.Close())
	time.Sleep(200 * time.Millisecond) // until the server sees it: it reports that to no client
	got := make(chan []string, 1)
	go func() {
		all, err := one.BLPop(ctx, limit, "list").Result()
		if err != nil {
			t.Error(err)
		}
		got <- all
	}()
	begun("BLPOP")
	must.Succeed(t, two.RPush(ctx, "list", "a").Err())
	if all := <-got; len(all) != 2 || all[1] != "a" {
		t.Errorf("who waits gets %q", all)
	}
	if r := l.next(); r.Command != "RPUSH" || len(r.Changes) != 1 {
		t.Errorf("the push is told as %+v", r)
	}
	if r := l.next(); r.Command != "BLPOP" || len(r.Changes) != 1 || r.Changes[0].After.Exists() {
		t.Errorf("the reply is told as %+v", r)
	}
}

// A script that waits would wait for ever.
func TestAScriptThatWaitsIsRefused(t *testing.T) {
	c, l := attend(t)
	err := c.Eval(t.Context(), "return redis.call('BLPOP', 'list', 0)", nil).Err()
	if r := l.next(); err == nil || !strings.Contains(r.Wrong, "cannot follow BLPOP") {
		t.Errorf("it ends with %v, and is told as %+v", err, r)
	}
}

func TestAKeyThatCannotBeFollowedIsToldOf(t *testing.T) {
	c, l := attend(t)
	must.Succeed(t, c.PFAdd(t.Context(), "estimate", "a").Err())
	if r := l.next(); !strings.Contains(r.Wrong, `"estimate"`) {
		t.Errorf("an estimate is told of as %+v", r)
	}
}

func TestItSaysWhichProcessAnswers(t *testing.T) {
	c := client(t, serve(t))
	info, err := c.Info(t.Context(), "server").Result()
	must.Succeed(t, err)
	if want := fmt.Sprintf("process_id:%d\r\n", os.Getpid()); !strings.Contains(info, want) {
		t.Errorf("INFO is %q, want %q in it", info, want)
	}
}

func TestWhoeverBreaksTheProtocolIsThrownOut(t *testing.T) {
	addr := serve(t)
	for _, sent := range []string{"+OK\r\n", "*1\r\n:1\r\n", "*0\r\n", "GET k\r\n"} {
		conn, err := net.Dial("tcp4", addr)
		must.Succeed(t, err)
		conn.SetDeadline(time.Now().Add(limit))
		_, err = conn.Write([]byte(sent))
		must.Succeed(t, err)
		if n, err := conn.Read(make([]byte, 1)); n != 0 || os.IsTimeout(err) {
			t.Errorf("%q is answered: %d, %v", sent, n, err)
		}
		conn.Close()
	}
	must.Succeed(t, client(t, addr).Ping(t.Context()).Err())
}

func TestAConfigurationWithoutAUsablePortIsRefused(t *testing.T) {
	for conf, want := range map[string]string{
		"bind 127.0.0.1\n": "names no port", "port x\n": `port "x"`, "port 70000\n": `port "70000"`, "port 0\n": `port "0"`,
	} {
		err := miniredis.Serve(t.Context(), write(t, conf), t.Output())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", conf, err)
		}
	}
	if err := miniredis.Serve(t.Context(), filepath.Join(t.TempDir(), "none"), t.Output()); err == nil {
		t.Error("a file that is not there is read")
	}
}

func TestAPortThatIsTakenIsRefused(t *testing.T) {
	_, port, err := net.SplitHostPort(serve(t))
	must.Succeed(t, err)
	var log bytes.Buffer
	err = miniredis.Serve(t.Context(), write(t, "port "+port+"\n"), &log)
	if !errors.Is(err, syscall.EADDRINUSE) || log.Len() > 0 {
		t.Errorf("a second server at one port: %v, %q", err, &log)
	}
}
