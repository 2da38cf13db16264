package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// guests are the lines of CLIENT LIST about connections of client processes.
func (srv *server) guests(ctx context.Context) ([]string, error) {
	text, err := srv.client().ClientList(ctx).Result()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool {
		return srv.world.parties.of(srv.name, clientField(line, "addr")) == ""
	}), nil
}

// guestSubscriptions counts the subscriptions of client processes.
func (srv *server) guestSubscriptions(ctx context.Context) (int, error) {
	lines, err := srv.guests(ctx)
	total := 0
	for _, line := range lines {
		for _, kind := range []string{"sub", "psub", "ssub"} {
			n, _ := strconv.Atoi(clientField(line, kind)) // not every version has all
			total += n
		}
	}
	return total, err
}

// guestKeys are the names of all keys that a primary may hold and that are the
// run's, as far as anybody has named them there.
func (srv *server) guestKeys() []string {
	if o, ok := srv.observing().(*observer); ok {
		return o.named()
	}
	return []string{srv.world.own().key}
}

const (
	// departure bounds the time that a server may take to notice that the
	// clients are gone.
	departure = 5 * time.Second
	// page is how many keys a server looks at in one go.
	page = 1000
)

// leave removes what the run has left on the servers, when no client can write
// any more.
func (s *Servers) leave() error {
	for _, gates := range s.clients {
		for _, g := range gates {
			g.close()
		}
	}
	var errs []error
	for _, l := range s.links {
		errs = append(errs, l.close())
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	for _, name := range s.primary {
		srv := s.byName[name]
		srv.awaitDeparture(ctx)
		if err := srv.sweep(ctx); err != nil {
			errs = append(errs, srv.wrong(fmt.Errorf("remove the keys that contain %q: %w", s.own().key, err)))
		}
	}
	return errors.Join(errs...)
}

// awaitDeparture waits until the server has read all that the clients had sent
// before their connections broke. One that does not tell is not waited for.
func (srv *server) awaitDeparture(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, departure)
	defer cancel()
	_ = until(ctx, "wait for the clients to be gone", func(ctx context.Context) error {
		if left, err := srv.guests(ctx); err == nil && len(left) > 0 {
			return fmt.Errorf("%d connections are open", len(left))
		}
		return nil
	})
}

// sweep deletes every key that is the run's.
func (srv *server) sweep(ctx context.Context) error {
	c := srv.client()
	scan := c.Scan(ctx, 0, "*"+literally(srv.world.own().key)+"*", page).Iterator()
	for scan.Next(ctx) {
		if err := c.Del(ctx, scan.Val()).Err(); err != nil {
			return err
		}
	}
	return scan.Err()
}

// literally is a pattern that a text matches and nothing else does.
func literally(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		if strings.IndexByte(`*?[]^\`, c) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	return b.String()
}

// elsewhere says that a key is another node's of the cluster.
func elsewhere(err error) bool {
	return redis.HasErrorPrefix(err, "MOVED") || redis.HasErrorPrefix(err, "ASK")
}
