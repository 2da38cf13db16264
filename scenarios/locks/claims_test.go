package locks

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// A lock is asked and judged by the same claims, wherever it comes from: by itself, in a
// header, or in a mix. Otherwise a lock in a mix would skip scenarios in silence.
func TestClaimsHaveOneAnswer(t *testing.T) {
	settings := []Setting{
		{Lease: time.Second, Scale: 1}, {Lease: 30 * time.Second, Poll: time.Second, Scale: 0.2},
		{Lease: 10 * time.Second, Handoff: 2 * time.Second, Acks: 2, Scale: 1},
	}
	for _, name := range Names() {
		l := MustFind(name)
		mixed, err := Mix(l, l)
		if err != nil {
			t.Fatal(err)
		}
		if mixed.Claims != l.Claims {
			t.Errorf("%s claims %+v; mixed with itself it claims %+v", name, l.Claims, mixed.Claims)
		}
		for _, in := range settings {
			if got := l.Terms(in).Claims; got != l.Claims.Judged() {
				t.Errorf("%s claims %+v, and in %+v its header says %+v", name, l.Claims, in, got)
			}
		}
	}
}

// A claim of a built-in lock is true of its code: a scenario with a shutdown would
// fail with any session that has none.
func TestShutsDownIsTrueOfSessions(t *testing.T) {
	for _, name := range Names() {
		l := MustFind(name)
		e := Environment{Process: "client-1", Lease: time.Second, Scale: 1}
		for range l.Groups {
			c := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"}) // connects to nothing before the first request
			defer c.Close()
			e.Clients = append(e.Clients, c)
		}
		s, err := l.Open(e)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if _, leaves := s.(Leaver); leaves != l.Claims.ShutsDown {
			t.Errorf("%s claims to shut down: %t; its session can: %t", name, l.Claims.ShutsDown, leaves)
		}
	}
}
