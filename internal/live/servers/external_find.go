package servers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// findWatched asks the Sentinels at an address for one another, and for the
// primary and its replicas.
func (o *External) findWatched(ctx context.Context, a Address, v *visitor) error {
	for _, addr := range a.hosts {
		if err := allowed(addr, v.Remote); err != nil {
			return err
		}
		if err := o.askSentinel(ctx, addr, a, v); err != nil {
			return fmt.Errorf("ask the Sentinel %s: %w", addr, err)
		}
	}
	return nil
}

func (o *External) askSentinel(ctx context.Context, addr string, a Address, v *visitor) error {
	p := newPlace(addr, v.toSentinel(a))
	c := p.client()
	defer func() { c.Close() }()
	if err := c.Ping(ctx).Err(); redis.HasErrorPrefix(err, "NOAUTH") && p.way.login == (login{}) {
		c.Close()
		p.way = v.to(a)
		c = p.client()
	}
	id, err := c.Do(ctx, "sentinel", "myid").Text()
	if err != nil {
		return err
	}
	p.id = id
	o.watcher(p)
	master := redis.NewMapStringStringCmd(ctx, "sentinel", "master", a.master)
	replicas := redis.NewMapStringStringSliceCmd(ctx, "sentinel", "replicas", a.master)
	others := redis.NewMapStringStringSliceCmd(ctx, "sentinel", "sentinels", a.master)
	for _, cmd := range []redis.Cmder{master, replicas, others} {
		if err := c.Process(ctx, cmd); err != nil {
			return err
		}
	}
	at := func(m map[string]string) string { return net.JoinHostPort(m["ip"], m["port"]) }
	for _, m := range others.Val() {
		p := newPlace(at(m), p.way)
		p.id = m["runid"]
		o.watcher(p)
	}
	primary := at(master.Val())
	if o.groups == nil {
		o.groups = [][]*place{{newPlace(primary, v.to(a))}}
	}
	if was := o.groups[0][0].addr; was != primary {
		return fmt.Errorf("it names the primary %s, and another one %s", primary, was)
	}
	for _, m := range replicas.Val() {
		if !slices.ContainsFunc(o.groups[0], func(p *place) bool { return p.addr == at(m) }) {
			o.groups[0] = append(o.groups[0], newPlace(at(m), v.to(a)))
		}
	}
	return nil
}

// watcher adds a Sentinel, or another address of a known one.
func (o *External) watcher(p *place) {
	i := slices.IndexFunc(o.watchers, func(w *place) bool { return w.id == p.id })
	if i < 0 {
		o.watchers = append(o.watchers, p)
		return
	}
	w := o.watchers[i]
	w.names = append(w.names, p.addr)
}

// findCluster asks the first of a cluster's nodes that answers for the others.
func (o *External) findCluster(ctx context.Context, a Address, v *visitor) error {
	var errs []error
	for _, addr := range a.hosts {
		if err := allowed(addr, v.Remote); err != nil {
			return err
		}
		c := straightTo(addr, v.to(a))
		text, err := c.ClusterNodes(ctx).Result()
		c.Close()
		if err == nil {
			o.groups, err = readCluster(text, addr, v.to(a))
			return err
		}
		errs = append(errs, fmt.Errorf("%s: %w", addr, err))
	}
	return errors.Join(errs...)
}

// readCluster makes groups of the nodes that the node at addr reports. It leaves out
// nodes that are not well.
func readCluster(text, addr string, w way) ([][]*place, error) {
	nodes, err := readClusterNodes(text)
	if err != nil {
		return nil, err
	}
	primaries := map[string][]*place{}
	replicas := map[string][]*place{} // by the id of their primary
	for _, n := range nodes {
		if n.is("fail", "handshake", "noaddr") {
			continue
		}
		p, err := newNodePlace(n, addr, w)
		if err != nil {
			return nil, err
		}
		if n.is("slave") {
			replicas[n.of] = append(replicas[n.of], p)
			continue
		}
		if p.slots, err = readSlots(n.slots); err != nil {
			return nil, err
		}
		if len(p.slots) > 0 {
			primaries[n.id] = []*place{p}
		}
	}
	var groups [][]*place
	for id, members := range primaries {
		groups = append(groups, append(members, replicas[id]...))
	}
	slices.SortFunc(groups, func(a, b []*place) int { return cmp.Compare(a[0].slots[0][0], b[0].slots[0][0]) })
	if len(groups) == 0 {
		return nil, errors.New("no node serves any slot in this cluster")
	}
	return groups, nil
}

// newNodePlace is the place of a cluster's node. A node that does not know its own ip
// is where it was asked.
func newNodePlace(n clusterNode, asked string, w way) (*place, error) {
	colon := strings.LastIndexByte(n.addr, ':')
	if colon < 0 {
		return nil, fmt.Errorf("read CLUSTER NODES: %q is no address", n.addr)
	}
	ip, port := n.addr[:colon], n.addr[colon+1:]
	if ip == "" {
		ip, _, _ = net.SplitHostPort(asked)
	}
	p := newPlace(net.JoinHostPort(ip, port), w)
	if n.host != "" {
		p.names = append(p.names, net.JoinHostPort(n.host, port))
	}
	return p, nil
}

// readSlots reads "0-100", "7", and leaves out slots that move, "[7->-id]".
func readSlots(words []string) ([][2]int, error) {
	var slots [][2]int
	for _, w := range words {
		if strings.HasPrefix(w, "[") {
			continue
		}
		first, last, ranged := strings.Cut(w, "-")
		if !ranged {
			last = first
		}
		a, err1 := strconv.Atoi(first)
		b, err2 := strconv.Atoi(last)
		if err1 != nil || err2 != nil {
			return nil, fmt.Errorf("read CLUSTER NODES: %q are no slots", w)
		}
		slots = append(slots, [2]int{a, b})
	}
	return slots, nil
}
