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
	"github.com/redis/go-redis/v9/maintnotifications"
)

// External are servers that run already and stay running. A world changes none of
// their configuration, stops none, and touches only keys that contain
// the key of [External.Part].
type External struct {
	kind     string
	master   string     // what Sentinels call the group
	groups   [][]*place // by group - 1, the primary first
	watchers []*place   // Sentinels
	key      string     // what all keys that are ours contain
}

type place struct {
	addr  string
	names []string // all addresses that others know it by, addr among them
	way   way
	id    string   // of the server's, to tell two apart
	slots [][2]int // of a cluster's primary: first and last

	// The fields below are found out of primaries only.
	replicas int             // that are online
	events   bool            // it tells the events of keys
	writes   map[string]bool // the commands that may change a key, in upper case
	ahead    time.Duration   // what its clock shows before ours does
}

// Discover finds the servers at addresses: a group of Sentinels, a cluster, or
// single servers, each a group of its own. Every primary must answer, allow
// MONITOR, and be Redis 7.0 or newer. Addresses on another machine are an error
// that wraps [ErrRemote], unless the guest allows them. No error contains a
// password.
func Discover(ctx context.Context, addresses []Address, g Guest) (*External, error) {
	if len(addresses) == 0 {
		return nil, errors.New("no address of servers is given")
	}
	v, err := g.visitor(addresses)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	o := &External{kind: addresses[0].kind, master: addresses[0].master}
	for _, a := range addresses {
		if len(addresses) > 1 && a.kind != kindRedis {
			return nil, errors.New("several addresses have to be redis:// each: a cluster, and what Sentinels watch, is used alone")
		}
		if err := o.find(ctx, a, v); err != nil {
			return nil, fmt.Errorf("%s: %w", a, err)
		}
	}
	ids := map[string]string{}
	for _, members := range o.groups {
		p := members[0]
		if err := p.inspect(ctx, o.kind); err != nil {
			return nil, fmt.Errorf("%s: %w", p.addr, err)
		}
		if first := ids[p.id]; first != "" {
			return nil, fmt.Errorf("%s and %s are the same server", first, p.addr)
		}
		ids[p.id] = p.addr
	}
	return o, nil
}

func (o *External) find(ctx context.Context, a Address, v *visitor) error {
	var found []*place
	var err error
	switch a.kind {
	case kindSentinel:
		err = o.findWatched(ctx, a, v)
		found = o.watchers
	case kindCluster:
		err = o.findCluster(ctx, a, v)
	default:
		o.groups = append(o.groups, []*place{newPlace(a.hosts[0], v.to(a))})
	}
	for _, p := range append(slices.Concat(o.groups...), found...) {
		if err == nil {
			err = allowed(p.addr, v.Remote)
		}
	}
	return err
}

func allowed(addr string, remote bool) error {
	if remote || onLoopback(addr) {
		return nil
	}
	return fmt.Errorf("%s: %w", addr, ErrRemote)
}

func newPlace(addr string, w way) *place {
	return &place{addr: addr, names: []string{addr}, way: w}
}

func (p *place) client() *redis.Client { return straightTo(p.addr, p.way) }

// straightTo is a client of the harness, without toxics.
func straightTo(addr string, w way) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: addr, Username: w.login.user, Password: w.login.password, TLSConfig: w.tls, DisableIdentity: true, MaxRetries: -1, PoolSize: 8,
		DialTimeout: 2 * time.Second, DialerRetries: 1,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}

// modes are the expected modes of a server by the kind of its address.
var modes = map[string]string{kindRedis: "standalone", kindSentinel: "standalone", kindCluster: "cluster"}

// oldest is the first version that reports when a key expires.
const oldest = 7

// inspect checks whether a run can use a primary, and how.
func (p *place) inspect(ctx context.Context, kind string) error {
	c := p.client()
	defer c.Close()
	text, err := c.Info(ctx, "server").Result()
	if err != nil {
		return err
	}
	info := fields(text)
	major, _, _ := strings.Cut(info["redis_version"], ".")
	if n, err := strconv.Atoi(major); err != nil || n < oldest {
		return fmt.Errorf("it is version %q, and %d.0 or newer is needed", info["redis_version"], oldest)
	}
	if mode := info["redis_mode"]; mode != modes[kind] {
		return fmt.Errorf("it calls itself %s: the address of a single server begins with redis://, of a cluster's nodes with cluster://, of Sentinels with sentinel://", mode)
	}
	p.id = info["run_id"]
	if text, err = c.Info(ctx, "replication").Result(); err != nil {
		return err
	}
	info = fields(text)
	if info["role"] != "master" {
		return fmt.Errorf("it is a replica of %s:%s", info["master_host"], info["master_port"])
	}
	p.replicas = len(onlineReplicas(info))
	if err := p.learn(ctx, c); err != nil {
		return err
	}
	return p.mayMonitor(ctx)
}

// learn asks a server for the facts that following its keys needs.
func (p *place) learn(ctx context.Context, c *redis.Client) error {
	commands, err := c.Command(ctx).Result()
	if err != nil {
		return fmt.Errorf("ask for its commands: %w", err)
	}
	p.writes = map[string]bool{}
	for name, info := range commands {
		if slices.Contains(info.Flags, "write") {
			p.writes[strings.ToUpper(name)] = true
		}
	}
	// One that does not let itself be asked is taken to tell nothing.
	config, _ := c.ConfigGet(ctx, "notify-keyspace-events").Result()
	p.events = tellsAll(config["notify-keyspace-events"])
	return p.compareClocks(ctx, c)
}

// tellsAll reports whether flags of notify-keyspace-events make a server publish
// every event of every type of key, each on its own channel.
func tellsAll(flags string) bool {
	if strings.Contains(flags, "A") {
		flags += "g$lshztxe"
	}
	return !slices.ContainsFunc([]string{"E", "g", "$", "l", "s", "h", "z", "t", "x", "e"}, func(f string) bool { return !strings.Contains(flags, f) })
}

// compareClocks measures how far the server's clock is ahead, to within half of
// the fastest of some round trips. Clocks that may be equal count as equal.
func (p *place) compareClocks(ctx context.Context, c *redis.Client) error {
	quickest := time.Duration(-1)
	for range 8 {
		sent := time.Now()
		shown, err := c.Time(ctx).Result()
		took := time.Since(sent)
		if err != nil {
			return fmt.Errorf("ask for its time: %w", err)
		}
		if quickest < 0 || took < quickest {
			quickest, p.ahead = took, shown.Sub(sent.Add(took/2).Round(0))
		}
	}
	if p.ahead.Abs() <= quickest/2+time.Microsecond {
		p.ahead = 0
	}
	return nil
}

// Groups is the number of independent primaries; in a cluster, of those that share
// its slots.
func (o *External) Groups() int   { return len(o.groups) }
func (o *External) Cluster() bool { return o.kind == kindCluster }

// Replicas is the least number of online replicas among the primaries of the first
// groups; in a cluster, among all.
func (o *External) Replicas(groups int) int {
	if o.Cluster() {
		groups = len(o.groups)
	}
	least := o.groups[0][0].replicas
	for _, members := range o.groups[:groups] {
		least = min(least, members[0].replicas)
	}
	return least
}

// Part selects the servers of a run with a lock: as many groups as the lock needs.
// Of a cluster it selects all groups, the owner of the key first. All keys that
// contain key belong to the run, and the close of its world removes them.
func (o *External) Part(ctx context.Context, key string, groups int) (*External, error) {
	part := *o
	part.key = key
	if !o.Cluster() {
		if groups > len(o.groups) {
			return nil, fmt.Errorf("%d independent primaries are needed, and there are %d", groups, len(o.groups))
		}
		part.groups = o.groups[:groups]
		return &part, nil
	}
	c := o.groups[0][0].client()
	defer c.Close()
	slot, err := c.ClusterKeySlot(ctx, key).Result()
	if err != nil {
		return nil, fmt.Errorf("ask for the slot of %q: %w", key, err)
	}
	owner := slices.IndexFunc(o.groups, func(members []*place) bool {
		return slices.ContainsFunc(members[0].slots, func(s [2]int) bool { return s[0] <= int(slot) && int(slot) <= s[1] })
	})
	if owner < 0 {
		return nil, fmt.Errorf("no node serves the slot of %q", key)
	}
	part.groups = slices.Concat(o.groups[owner:], o.groups[:owner])
	return &part, nil
}
