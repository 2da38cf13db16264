package servers

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

// pace is the interval of a Sentinel's actions. Its own 10 s between polls and 2 s
// between announcements would delay every run.
type pace struct{ info, publish time.Duration }

var (
	// meeting is the pace until Sentinels know everybody.
	meeting = pace{info: 100 * time.Millisecond, publish: 50 * time.Millisecond}
	// watching is their pace afterwards. A Sentinel that hears nothing of a
	// failover for four announcements undoes it, so these are no faster.
	watching = pace{info: 300 * time.Millisecond, publish: 250 * time.Millisecond}
)

const (
	// sentinelPing: a replica that has not reported for five pings is not promoted, and
	// during a failover Sentinels ask only once in a second.
	sentinelPing = 300 * time.Millisecond
	// sentinelAsk is the time between two questions of Sentinels that miss a primary to
	// the others.
	sentinelAsk = 100 * time.Millisecond
	// sentinelElection is the time for which one that was not elected waits.
	sentinelElection = time.Second
	// sentinelTilt is the time for which a Sentinel does nothing after it was not
	// scheduled for two seconds. Its own 30 s are as long as a whole run.
	sentinelTilt = time.Second
)

// hurry makes a Sentinel work faster. One that is too old for the setting still
// works, but later.
func (srv *Server) hurry(ctx context.Context, p pace) {
	_ = srv.Client().Do(ctx, "sentinel", "debug",
		"info-period", p.info.Milliseconds(), "publish-period", p.publish.Milliseconds(), "ping-period", sentinelPing.Milliseconds(),
		"ask-period", sentinelAsk.Milliseconds(), "election-timeout", sentinelElection.Milliseconds(), "tilt-period", sentinelTilt.Milliseconds(),
	).Err()
}

type view struct {
	master   map[string]string
	replicas []map[string]string
}

func (srv *Server) view(ctx context.Context, group int) (view, error) {
	master := redis.NewMapStringStringCmd(ctx, "sentinel", "master", watched(group))
	replicas := redis.NewMapStringStringSliceCmd(ctx, "sentinel", "replicas", watched(group))
	for _, cmd := range []redis.Cmder{master, replicas} {
		if err := srv.Client().Process(ctx, cmd); err != nil {
			return view{}, err
		}
	}
	return view{master.Val(), replicas.Val()}, nil
}

// awaitSentinels waits until every Sentinel has found the others and every node, and
// reports all of them healthy.
func (s *Servers) awaitSentinels(ctx context.Context) error {
	for _, srv := range s.watchers() {
		for g := 1; g <= s.opts.Groups; g++ {
			if err := srv.until(ctx, "to know the others", func(ctx context.Context) error { return srv.knows(ctx, g) }); err != nil {
				return err
			}
		}
	}
	return nil
}

func (srv *Server) knows(ctx context.Context, group int) error {
	v, err := srv.view(ctx, group)
	if err != nil {
		return err
	}
	if v.master["flags"] != "master" {
		return fmt.Errorf("it finds %s %s", watched(group), v.master["flags"])
	}
	if v.master["num-other-sentinels"] != strconv.Itoa(sentinels-1) {
		return fmt.Errorf("it has found %s other Sentinels", v.master["num-other-sentinels"])
	}
	healthy := 0
	for _, r := range v.replicas {
		if r["flags"] == "slave" && r["master-link-status"] == "ok" {
			healthy++
		}
	}
	if healthy != srv.world.opts.Replicas {
		return fmt.Errorf("it has found %d of %d replicas", healthy, srv.world.opts.Replicas)
	}
	return nil
}

// elected asks a Sentinel for the primary of a group and its election. A failover
// may not be over yet: the other replicas still have to follow.
func (srv *Server) elected(ctx context.Context, group int) (name string, epoch int, err error) {
	at := redis.NewStringSliceCmd(ctx, "sentinel", "get-master-addr-by-name", watched(group))
	if err := srv.Client().Process(ctx, at); err != nil {
		return "", 0, err
	}
	v, err := srv.view(ctx, group)
	if err != nil {
		return "", 0, err
	}
	if len(at.Val()) != 2 {
		return "", 0, fmt.Errorf("%s names no primary: %q", srv.Name, at.Val())
	}
	addr := at.Val()[0] + ":" + at.Val()[1]
	node, ok := srv.world.behind(addr)
	if !ok {
		return "", 0, fmt.Errorf("%s names a primary that is none of ours: %s", srv.Name, addr)
	}
	epoch, err = strconv.Atoi(v.master["config-epoch"])
	return node.Name, epoch, err
}

// awaitSettled waits until no Sentinel is in a failover, because it would refuse
// to start another.
func (s *Servers) awaitSettled(ctx context.Context, group int) error {
	for _, srv := range s.watchers() {
		if !srv.up() {
			continue
		}
		err := srv.until(ctx, "to end a failover", func(ctx context.Context) error {
			v, err := srv.view(ctx, group)
			if err == nil && slices.Contains(strings.Split(v.master["flags"], ","), "failover_in_progress") {
				err = errors.New("a failover is under way")
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// prefer makes a replica the one that Sentinels promote next. It returns when each of
// them has its priority and would promote it. A replica that has just come back is not
// yet sound for a Sentinel, which then promotes another one.
func (s *Servers) prefer(ctx context.Context, to, old *Server) error {
	if err := s.setPriorities(ctx, to, old); err != nil {
		return err
	}
	alive := old.up()
	for _, srv := range s.watchers() {
		if !srv.up() {
			continue
		}
		err := srv.until(ctx, "to prefer "+to.Name, func(ctx context.Context) error {
			switch name, _, err := srv.elected(ctx, to.group); {
			case err != nil:
				return err
			case name == to.Name:
				return nil // they were quick
			case name != old.Name:
				return fmt.Errorf("%w: %s took over", errVain, name)
			}
			return srv.prefers(ctx, to, alive)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// setPriorities gives a replica the lowest number of those that could be promoted
// instead of old, unless it has that already.
func (s *Servers) setPriorities(ctx context.Context, to, old *Server) error {
	var rivals []*Server
	for _, srv := range s.members(to.group) {
		if srv != to && srv != old && srv.up() {
			rivals = append(rivals, srv)
		}
	}
	mine, err := to.priorityNow(ctx)
	if err != nil {
		return err
	}
	first := true
	for _, srv := range rivals {
		p, err := srv.priorityNow(ctx)
		if err != nil {
			return err
		}
		first = first && mine < p
	}
	if first {
		return nil
	}
	for _, srv := range append(rivals, to) {
		priority := srv.priority()
		if srv == to {
			priority = 1
		}
		if err := srv.Client().ConfigSet(ctx, "replica-priority", strconv.Itoa(priority)).Err(); err != nil {
			return srv.wrong(fmt.Errorf("set its priority: %w", err))
		}
	}
	return nil
}

// prefers returns the reason why the Sentinel would not promote the replica, or
// nil. A Sentinel passes over a replica that it finds down or disconnected. While
// the primary lives, the replica's link to it must be up as well.
func (srv *Server) prefers(ctx context.Context, to *Server, alive bool) error {
	v, err := srv.view(ctx, to.group)
	if err != nil {
		return err
	}
	port := strconv.Itoa(to.door.Addr().Port)
	mine := slices.IndexFunc(v.replicas, func(r map[string]string) bool { return r["port"] == port })
	if mine < 0 {
		return fmt.Errorf("it does not know %s", to.Name)
	}
	r := v.replicas[mine]
	switch {
	case r["flags"] != "slave":
		return fmt.Errorf("it finds %s %s", to.Name, r["flags"])
	case alive && r["master-link-status"] != "ok":
		return fmt.Errorf("it finds the link of %s %s", to.Name, r["master-link-status"])
	}
	priority, err := strconv.Atoi(r["slave-priority"])
	if err != nil {
		return fmt.Errorf("read the priority of %s: %w", to.Name, err)
	}
	for i, rival := range v.replicas {
		// Zero is a replica that no Sentinel promotes. The others' numbers do not
		// count while they are down.
		if p, err := strconv.Atoi(rival["slave-priority"]); i != mine && err == nil && p > 0 && p <= priority && rival["flags"] == "slave" {
			return errors.New("it does not know the new priority")
		}
	}
	return nil
}

func (srv *Server) priorityNow(ctx context.Context) (int, error) {
	m, err := srv.Client().ConfigGet(ctx, "replica-priority").Result()
	if err != nil {
		return 0, srv.wrong(fmt.Errorf("read its priority: %w", err))
	}
	return strconv.Atoi(m["replica-priority"])
}

func (s *Servers) orderFailover(ctx context.Context, group int) error {
	for _, srv := range s.watchers() {
		if !srv.up() {
			continue
		}
		return srv.until(ctx, "to start a failover", func(ctx context.Context) error {
			err := srv.Client().Do(ctx, "sentinel", "failover", watched(group)).Err()
			if redis.HasErrorPrefix(err, "INPROG") {
				return nil // it is at it
			}
			return err
		})
	}
	return errors.New("no Sentinel is up to order a failover")
}
