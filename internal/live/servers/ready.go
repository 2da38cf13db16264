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

// A wait for a server looks again soon at first, and then every poll.
const soon, poll = 2 * time.Millisecond, 25 * time.Millisecond

// errVain ends a wait for an event that can no longer come.
var errVain = errors.New("waiting is in vain")

// until repeats look until it returns no error. After too long it returns the last
// error.
func (srv *Server) until(ctx context.Context, what string, look func(context.Context) error) error {
	return srv.wrong(until(ctx, "wait for it "+what, look))
}

func until(ctx context.Context, what string, look func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTimer(0)
	defer tick.Stop()
	pause := soon
	last := errors.New("it has not been looked at")
	for {
		once, done := context.WithTimeout(ctx, 2*time.Second)
		err := look(once)
		done()
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			last = err
		}
		if errors.Is(err, errGone) || errors.Is(err, errVain) {
			return fmt.Errorf("%s: %w", what, err)
		}
		tick.Reset(pause)
		pause = min(2*pause, poll)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%s: %w; last seen: %w", what, ctx.Err(), last)
		}
	}
}

func (srv *Server) info(ctx context.Context, section string) (map[string]string, error) {
	text, err := srv.Client().Info(ctx, section).Result()
	if err != nil {
		return nil, err
	}
	return fields(text), nil
}

// fields reads lines of "name:value".
func fields(text string) map[string]string {
	m := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			m[name] = value
		}
	}
	return m
}

func (s *Servers) awaitReplication(ctx context.Context) error {
	for g := range s.opts.Groups {
		for _, srv := range s.members(g + 1)[1:] {
			if err := srv.awaitFollows(ctx, s.members(g + 1)[0]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (srv *Server) awaitFollows(ctx context.Context, primary *Server) error {
	return srv.until(ctx, "to be in sync with "+primary.Name, func(ctx context.Context) error {
		return srv.follows(ctx, primary)
	})
}

// follows returns the reason why the server is not a synchronized replica of
// primary, or nil.
func (srv *Server) follows(ctx context.Context, primary *Server) error {
	mine, err := srv.info(ctx, "replication")
	if err != nil {
		return err
	}
	its, err := primary.info(ctx, "replication")
	if err != nil {
		return err
	}
	switch {
	case mine["role"] != "slave" || mine["master_port"] != strconv.Itoa(primary.door.Addr().Port):
		return fmt.Errorf("it is a %s of port %q, not a replica of %s", mine["role"], mine["master_port"], primary.Name)
	case mine["master_link_status"] != "up" || mine["master_sync_in_progress"] != "0":
		return fmt.Errorf("its link to %s is %s", primary.Name, mine["master_link_status"])
	case its["master_replid"] != mine["master_replid"]:
		return fmt.Errorf("it has another history than %s", primary.Name)
	}
	if !slices.Contains(onlineReplicas(its), strconv.Itoa(srv.door.Addr().Port)) {
		return fmt.Errorf("%s does not count it as online", primary.Name)
	}
	return nil
}

// onlineReplicas are the ports of the replicas that INFO replication of a primary
// lists as online, in no order.
func onlineReplicas(info map[string]string) (ports []string) {
	for name, entry := range info { // slave0:ip=...,port=...,state=online,...
		if !strings.HasPrefix(name, "slave") {
			continue
		}
		replica := map[string]string{}
		for _, field := range strings.Split(entry, ",") {
			key, value, _ := strings.Cut(field, "=")
			replica[key] = value
		}
		if replica["state"] == "online" {
			ports = append(ports, replica["port"])
		}
	}
	return ports
}
