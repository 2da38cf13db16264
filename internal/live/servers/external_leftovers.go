package servers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// clientLines are the lines of CLIENT LIST about connections of client processes.
func (srv *Server) clientLines(ctx context.Context) ([]string, error) {
	text, err := srv.Client().ClientList(ctx).Result()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool {
		return srv.world.parties.Of(srv.Name, clientField(line, "addr")) == ""
	}), nil
}

func (srv *Server) clientSubscriptions(ctx context.Context) (int, error) {
	lines, err := srv.clientLines(ctx)
	total := 0
	for _, line := range lines {
		for _, kind := range []string{"sub", "psub", "ssub"} {
			n, _ := strconv.Atoi(clientField(line, kind)) // not every version has all
			total += n
		}
	}
	return total, err
}

// externalKeys are the names of all keys that a primary may hold and that are the
// run's, as far as anybody has named them there.
func (srv *Server) externalKeys() []string {
	if o := srv.observing(); o != nil {
		return o.Named()
	}
	return []string{srv.world.external().key}
}

const (
	// departure bounds the time that a server may take to notice that the
	// clients are gone.
	departure = 5 * time.Second
	// page is the number of keys that a server looks at in one go.
	page = 1000
)

// leave removes the run's remains from the servers, after the last client has
// stopped.
func (s *Servers) leave() error {
	errs := []error{s.disconnect()}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	for _, name := range s.primary {
		srv := s.byName[name]
		srv.awaitDeparture(ctx)
		if err := srv.sweep(ctx); err != nil {
			errs = append(errs, srv.wrong(fmt.Errorf("remove the keys that contain %q: %w", s.external().key, err)))
		}
	}
	return errors.Join(errs...)
}

// awaitDeparture waits until the server has read all data that the clients had
// sent before their connections broke. It does not wait for a server that does not
// show this.
func (srv *Server) awaitDeparture(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, departure)
	defer cancel()
	_ = until(ctx, "wait for the clients to be gone", func(ctx context.Context) error {
		if left, err := srv.clientLines(ctx); err == nil && len(left) > 0 {
			return fmt.Errorf("%d connections are open", len(left))
		}
		return nil
	})
}

func (srv *Server) sweep(ctx context.Context) error {
	c := srv.Client()
	literally := strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `^`, `\^`, `\`, `\\`)
	scan := c.Scan(ctx, 0, "*"+literally.Replace(srv.world.external().key)+"*", page).Iterator()
	for scan.Next(ctx) {
		if err := c.Del(ctx, scan.Val()).Err(); err != nil {
			return err
		}
	}
	return scan.Err()
}
