package script_test

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"

	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/sim/internal/script"
)

func sha(s string) string {
	sum := sha1.Sum([]byte(s))
	return hex.EncodeToString(sum[:])
}

// address is that of a Lua object, which differs from process to process.
var address = regexp.MustCompile("0x[0-9a-f]{6,}")

// party is a server with a few connections.
type party struct {
	mr    *miniredis.Miniredis
	conns []*conn
}

type conn struct {
	reply bytes.Buffer
	peer  *server.Peer
	send  func(args []string) script.Keys
}

func newParty(t testing.TB, engine bool, conns int) *party {
	t.Helper()
	mr := miniredis.NewMiniRedis()
	c, err := mr.Dial() // starts it without a listener
	must.Succeed(t, err)
	c.Close()
	t.Cleanup(mr.Close)
	mr.SetTime(time.Date(2000, 1, 1, 0, 0, 0, 5000, time.UTC))
	mr.ClockTTL(true)
	p, e := &party{mr: mr}, script.New(mr)
	for range conns {
		c := &conn{}
		c.peer = server.NewPeer(bufio.NewWriter(&c.reply))
		c.send = func(args []string) script.Keys {
			mr.Server().Dispatch(c.peer, args)
			return script.Keys{Any: true}
		}
		if engine {
			c.send = e.Session(c.peer).Execute
		}
		p.conns = append(p.conns, c)
	}
	return p
}

// ask sends a request over a connection, and returns the reply.
func (p *party) ask(conn int, args []string) (string, script.Keys) {
	c := p.conns[conn]
	c.reply.Reset()
	keys := c.send(args)
	c.peer.Flush()
	return address.ReplaceAllString(c.reply.String(), "0x"), keys
}

// dump is all the data of a database.
func (p *party) dump(db int) string {
	p.mr.Select(db)
	defer p.mr.Select(0)
	return address.ReplaceAllString(p.mr.Dump(), "0x")
}

// values are the keys of the first database with their values and TTL.
func (p *party) values(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, k := range p.mr.Keys() {
		var v any
		var err error
		switch p.mr.Type(k) {
		case "string":
			v, err = p.mr.Get(k)
		case "hash":
			fields, e := p.mr.HKeys(k)
			held := map[string]string{}
			for _, f := range fields {
				held[f] = p.mr.HGet(k, f)
			}
			v, err = held, e
		case "list":
			v, err = p.mr.List(k)
		case "set":
			v, err = p.mr.Members(k)
		case "zset":
			v, err = p.mr.SortedSet(k)
		default:
			t.Fatalf("key %s is a %s", k, p.mr.Type(k))
		}
		must.Succeed(t, err)
		all[k] = fmt.Sprint(v, p.mr.TTL(k))
	}
	return all
}

// TestSameAsMiniredis plays random scripts and requests against the engine and
// against bare miniredis. A difference in a reply or in the data means that a
// simulated lock behaves differently than on the server it is promised. A key
// that changes although the engine does not name it would be missing from the
// ground truth.
//
// The number of requests is HOLDFAST_REQUESTS. A new version of miniredis must
// pass with 120000 of them.
func TestSameAsMiniredis(t *testing.T) {
	requests := 6000
	if s := os.Getenv("HOLDFAST_REQUESTS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("HOLDFAST_REQUESTS: %v", err)
		}
		requests = n
	}
	const round, conns = 300, 3
	for seed := range uint64((requests + round - 1) / round) {
		d := &draw{rng: rand.New(rand.NewPCG(seed, 1))}
		plain, engine := newParty(t, false, conns), newParty(t, true, conns)
		for step := range round {
			if d.chance(3) {
				now := time.Date(2000, 1, 1, 0, 0, 0, 5000, time.UTC).Add(time.Duration(step) * 40 * time.Millisecond)
				plain.mr.SetTime(now)
				engine.mr.SetTime(now)
			}
			args, conn := d.request(sha), d.rng.IntN(conns)
			before := engine.values(t)
			plain.values(t) // looking at a key counts as use of it
			want, _ := plain.ask(conn, args)
			got, keys := engine.ask(conn, args)
			if want != got {
				t.Fatalf("seed %d, step %d, connection %d: %q\nminiredis: %q\nengine:    %q", seed, step, conn, args, want, got)
			}
			for _, db := range []int{0, 3} {
				if want, got := plain.dump(db), engine.dump(db); want != got {
					t.Fatalf("seed %d, step %d: %q\nminiredis:\n%s\nengine:\n%s", seed, step, args, want, got)
				}
			}
			if keys.Any {
				continue
			}
			after := engine.values(t)
			plain.values(t)
			for _, k := range slices.Sorted(maps.Keys(merged(before, after))) {
				if before[k] != after[k] && !slices.Contains(keys.Names, k) {
					t.Fatalf("seed %d, step %d: %q\nchanged %s from %q to %q, and names %q", seed, step, args, k, before[k], after[k], keys.Names)
				}
			}
		}
	}
}

func merged(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// An interpreter serves the next script too. Otherwise the engine is as slow as
// miniredis, and nothing else would show it.
func TestScriptsRunPooled(t *testing.T) {
	if raced {
		t.Skip("the race detector empties pools at random; the same test without it decides")
	}
	p := newParty(t, true, 1)
	const src = "if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then return 1 end return redis.call('HSET', KEYS[1], ARGV[1], 1)"
	p.ask(0, []string{"EVAL", src, "1", "k", "f"})
	few := testing.AllocsPerRun(100, func() { p.ask(0, []string{"EVALSHA", sha(src), "1", "k", "f"}) })
	q := newParty(t, false, 1)
	q.ask(0, []string{"EVAL", src, "1", "k", "f"})
	many := testing.AllocsPerRun(100, func() { q.ask(0, []string{"EVALSHA", sha(src), "1", "k", "f"}) })
	if few > many/4 {
		t.Errorf("a script makes %.0f allocations with the engine, and %.0f with miniredis: it does not run pooled", few, many)
	}
}

func BenchmarkScript(b *testing.B) {
	const src = "if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) return 1 end redis.call('HSET', KEYS[1], ARGV[1], 1) return 0"
	for _, engine := range []bool{false, true} {
		b.Run(map[bool]string{false: "miniredis", true: "engine"}[engine], func(b *testing.B) {
			p := newParty(b, engine, 1)
			p.ask(0, []string{"EVAL", src, "1", "k", "f", "1000"})
			b.ReportAllocs()
			for b.Loop() {
				p.ask(0, []string{"EVALSHA", sha(src), "1", "k", "f", "1000"})
			}
		})
	}
}
