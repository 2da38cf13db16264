package sim_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/redis/profile"
	"github.com/holdfast-go/holdfast/sim"
)

// onServer plays f with a client of one server as it is offered. ask returns the reply, or
// the error, as text.
func onServer(t *testing.T, name string, f func(ask func(words ...any) string)) {
	t.Helper()
	p, err := profile.Find(name)
	must.Succeed(t, err)
	in(t, sim.Options{Seed: 1, Clients: 1, Groups: 1, Server: p}, func(ctx context.Context, w *sim.World) {
		c := impatient(w)
		defer c.Close()
		f(func(words ...any) string { return said(c.Do(ctx, words...)) })
	})
}

func said(cmd *redis.Cmd) string {
	reply, err := cmd.Result()
	switch {
	case errors.Is(err, redis.Nil):
		return "nil"
	case err != nil:
		return err.Error()
	}
	return fmt.Sprint(reply)
}

// valkey-server 9.1.2 gave the same replies to the same requests.
func TestComparisonsAreThoseOfValkey(t *testing.T) {
	onServer(t, "valkey-9.1", func(ask func(words ...any) string) {
		for _, c := range []struct{ request, want string }{
			{"SET k v", "OK"},
			{"DELEX k IFEQ x", "ERR unknown command 'DELEX', with args beginning with: 'k' 'IFEQ' 'x' "},
			{"DELIFEQ k x", "0"},
			{"SET k v IFEQ v PX 100000", "OK"},
			{"PERSIST k", "1"},
			{"SET k w IFEQ x PX 1000", "nil"},
			{"SET k w IFEQ x GET PX 1000", "v"},
			{"SET k v IFEQ v GET", "v"},
			{"SET nokey v IFEQ x", "nil"},
			{"SET nokey v IFEQ x GET", "nil"},
			{"SET k v IFEQ", "ERR syntax error"},
			{"SET k v IFEQ v IFEQ v", "ERR syntax error"},
			{"SET k v XX IFEQ v", "ERR syntax error"},
			{"SET k v IFEQ v NX", "ERR syntax error"},
			{"DELIFEQ k", "ERR wrong number of arguments for 'delifeq' command"},
			{"RPUSH l a", "1"},
			{"DELIFEQ l x", "WRONGTYPE Operation against a key holding the wrong kind of value"},
			{"SET l v IFEQ x", "WRONGTYPE Operation against a key holding the wrong kind of value"},
			{"SET IFEQ v", "OK"},
			{"DELIFEQ k v", "1"},
			{"EXISTS k", "0"},
		} {
			var words []any
			for _, word := range strings.Fields(c.request) {
				words = append(words, word)
			}
			if got := ask(words...); got != c.want {
				t.Errorf("%s: %q, not %q", c.request, got, c.want)
			}
		}
		ask("SET", "k", "v")
		if got := ask("EVAL", "return {redis.call('set', KEYS[1], 'w', 'ifeq', 'v'), redis.call('delifeq', KEYS[1], 'w')}", 1, "k"); got != "[OK 1]" {
			t.Errorf("in a script: %s", got)
		}
	})
}

// A transaction keeps the requests until EXEC, and a refused one ends it.
func TestComparisonsInATransaction(t *testing.T) {
	p, err := profile.Find("valkey-9.1")
	must.Succeed(t, err)
	in(t, sim.Options{Seed: 1, Clients: 1, Groups: 1, Server: p}, func(ctx context.Context, w *sim.World) {
		c := impatient(w)
		defer c.Close()
		must.Succeed(t, c.Set(ctx, "k", "v", 0).Err())
		pipe := c.TxPipeline()
		set, del := pipe.Do(ctx, "SET", "k", "w", "IFEQ", "v"), pipe.Do(ctx, "DELIFEQ", "k", "w")
		_, err := pipe.Exec(ctx)
		must.Succeed(t, err)
		if said(set) != "OK" || said(del) != "1" {
			t.Errorf("%s and %s, want OK and 1", said(set), said(del))
		}
		pipe = c.TxPipeline()
		pipe.Do(ctx, "SET", "k", "x")
		pipe.Do(ctx, "DELEX", "k")
		if _, err := pipe.Exec(ctx); err == nil {
			t.Error("a transaction with an unknown command was executed")
		}
		if n := c.Exists(ctx, "k").Val(); n != 0 {
			t.Error("a part of the transaction was executed")
		}
	})
}

func TestRedis84Deletes(t *testing.T) {
	onServer(t, "redis-8.4", func(ask func(words ...any) string) {
		ask("SET", "k", "v")
		for _, got := range []string{ask("DELEX", "k", "IFEQ", "x"), ask("DELEX", "k", "IFNE", "v")} {
			if got != "0" {
				t.Errorf("a key of another value: %s, want 0", got)
			}
		}
		if got := ask("EVAL", "return redis.call('delex', KEYS[1], 'IFEQ', 'v')", 1, "k"); got != "1" {
			t.Errorf("in a script: %s, want 1", got)
		}
		if got := ask("DELIFEQ", "k", "v"); !strings.HasPrefix(got, "ERR unknown command 'DELIFEQ'") {
			t.Errorf("DELIFEQ: %s", got)
		}
	})
}

// Some servers look at the keys of a script, and refuse it in their own words.
func TestServersCheckKeys(t *testing.T) {
	const byArgument, inLoop, byKeys = "return redis.call('get', ARGV[1])", "for _, k in ipairs(KEYS) do redis.call('get', k) end", "return redis.call('get', KEYS[1])"
	for server, refused := range map[string]map[string]string{
		"redis-7":        {},
		"dragonfly":      {byArgument: "script tried accessing undeclared key, key: other"},
		"aliyun-cluster": {byArgument: "ERR bad lua script", inLoop: "ERR bad lua script"},
	} {
		onServer(t, server, func(ask func(words ...any) string) {
			for _, script := range []string{byArgument, inLoop, byKeys} {
				got, want := ask("EVAL", script, 1, "k", "other"), refused[script]
				if want == "" && got != "nil" || !strings.Contains(got, want) {
					t.Errorf("%s, %s: %s", server, script, got)
				}
			}
		})
	}
}

func TestServersRefuseCommands(t *testing.T) {
	for server, refused := range map[string]map[string]string{
		"garnet":             {"EVAL": "ERR This instance has Lua scripting support disabled"},
		"proxy-without-wait": {"WAIT": "ERR unknown command 'WAIT'"},
		"redis-7-acl": {
			"PUBLISH": "NOPERM this user has no permissions to access one of the channels used as arguments",
			"EVAL":    "ERR The user executing the script can't publish to the channel mentioned in the command",
		},
	} {
		onServer(t, server, func(ask func(words ...any) string) {
			for _, request := range [][]any{{"WAIT", 0, 10}, {"PUBLISH", "c", "m"}, {"EVAL", "return redis.call('publish', 'c', 'm')", 0}} {
				got, want := ask(request...), refused[request[0].(string)]
				if want == "" && got != "0" || !strings.Contains(got, want) {
					t.Errorf("%s, %v: %s, want %q", server, request, got, want)
				}
			}
		})
	}
}

// On a cluster whose PUBLISH acts as SPUBLISH, a script publishes to a channel of the slot
// of its keys alone.
func TestPublishOfAShard(t *testing.T) {
	for server, want := range map[string]string{"redis-7": "0", "elasticache-serverless": "ERR Script attempted to access a non local key in a cluster node"} {
		p, err := profile.Find(server)
		must.Succeed(t, err)
		in(t, sim.Options{Seed: 1, Clients: 1, Groups: 3, Cluster: true, Server: p}, func(ctx context.Context, w *sim.World) {
			c := alone(w, 1)
			defer c.Close()
			const publish = "return redis.call('publish', ARGV[1], 'm')"
			if got := said(c.Eval(ctx, publish, []string{here}, "elsewhere")); !strings.Contains(got, want) {
				t.Errorf("%s: a channel of another slot: %s, want %s", server, got, want)
			}
			if got := said(c.Eval(ctx, publish, []string{here}, "channel:"+here)); got != "0" {
				t.Errorf("%s: a channel of the slot: %s", server, got)
			}
		})
	}
}
