package live

import (
	"bufio"
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	redis "github.com/alicebob/miniredis/v2/server"

	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
)

// shadow holds the lock keys of a server, as far as its reports show them. It executes
// the reported commands again, on a server in memory without clients. No key expires
// there by itself; the real server reports each expiry.
type shadow struct {
	mr    *miniredis.Miniredis
	reply bytes.Buffer
	peer  *redis.Peer
	state map[string]keyspace.Value
}

func newShadow() (*shadow, error) {
	s := &shadow{mr: miniredis.NewMiniRedis(), state: map[string]keyspace.Value{}}
	c, err := s.mr.Dial() // starts it without a listener
	if err != nil {
		return nil, fmt.Errorf("start a shadow: %w", err)
	}
	s.peer = redis.NewPeer(bufio.NewWriter(&s.reply))
	return s, c.Close()
}

func (s *shadow) close() { s.mr.Close() }

func (s *shadow) keys() []string { return slices.Sorted(maps.Keys(s.state)) }

// replay executes a command that changed the given keys while the server's clock
// showed now, from which times to live count.
func (s *shadow) replay(args, keys []string, now time.Time) error {
	s.mr.SetTime(now)
	left := map[string]time.Duration{}
	for _, k := range keys {
		if v := s.state[k]; !v.ExpireAt.IsZero() {
			left[k] = max(v.ExpireAt.Sub(now), 1) // it has not ended, or the server had said so
			s.mr.SetTTL(k, left[k])
		}
	}
	if reply := s.carryOut(unconditional(args)); strings.HasPrefix(reply, "-ERR unknown command") {
		return fmt.Errorf("cannot follow %s", strings.ToUpper(args[0]))
	} else if strings.HasPrefix(reply, "-") {
		return fmt.Errorf("carry out %q again: %s", args, strings.TrimSpace(reply))
	}
	for _, k := range keys {
		v, err := keyspace.Read(s.mr, k, now)
		if err != nil {
			return fmt.Errorf("carry out %q again: %w", args, err)
		}
		if ttl, had := left[k]; had && v.ExpireAt.Equal(now.Add(ttl)) {
			v.ExpireAt = s.state[k].ExpireAt
		}
		s.keep(k, v)
	}
	return nil
}

// unconditional is a command that miniredis has, in the place of one that compared the key
// with a value and has changed it.
func unconditional(args []string) []string {
	switch strings.ToUpper(args[0]) {
	case "DELIFEQ", "DELEX":
		return []string{"DEL", args[1]}
	case "SET":
		if i := slices.IndexFunc(args, func(a string) bool { return strings.EqualFold(a, "IFEQ") }); i > 2 {
			return slices.Delete(slices.Clone(args), i, i+2)
		}
	}
	return args
}

// carryOut executes a command, which never waits, and returns the reply.
func (s *shadow) carryOut(args []string) string {
	if keyspace.MayWait(args) {
		if reply, found := keyspace.TryAgain(s.mr, args, false); found {
			return reply
		}
		return ""
	}
	s.reply.Reset()
	s.mr.Server().Dispatch(s.peer, args)
	s.peer.Flush()
	return s.reply.String()
}

func (s *shadow) set(key string, v keyspace.Value) error {
	s.keep(key, v)
	v.ExpireAt = time.Time{} // only state has it
	return keyspace.Write(s.mr, key, v, time.Time{})
}

func (s *shadow) keep(key string, v keyspace.Value) {
	if v.Exists() {
		s.state[key] = v
	} else {
		delete(s.state, key)
	}
}
