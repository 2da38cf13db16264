package servers

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
)

// formCluster joins the nodes to one cluster, and waits until every node reports
// it healthy.
func (s *Servers) formCluster(ctx context.Context) error {
	for i, srv := range s.order {
		if err := srv.Client().Do(ctx, "cluster", "set-config-epoch", i+1).Err(); err != nil {
			return srv.wrong(fmt.Errorf("set its epoch: %w", err))
		}
		if srv.rank == 0 {
			first, last := keyspace.SlotsOf(srv.group, s.opts.Groups)
			if err := srv.Client().ClusterAddSlotsRange(ctx, first, last).Err(); err != nil {
				return srv.wrong(fmt.Errorf("give it its slots: %w", err))
			}
		}
	}
	for _, srv := range s.order[1:] {
		if err := s.order[0].Client().Do(ctx, "cluster", "meet", "127.0.0.1", srv.door.Addr().Port, srv.busDoor.Addr().Port).Err(); err != nil {
			return s.order[0].wrong(fmt.Errorf("let it meet %s: %w", srv.Name, err))
		}
	}
	for _, srv := range s.order {
		if srv.rank == 0 {
			continue
		}
		primary := s.members(srv.group)[0]
		id, err := primary.Client().ClusterMyID(ctx).Result()
		if err != nil {
			return primary.wrong(fmt.Errorf("ask for its id: %w", err))
		}
		err = srv.until(ctx, "to follow "+primary.Name, func(ctx context.Context) error {
			return srv.Client().ClusterReplicate(ctx, id).Err() // not before it has heard of the primary
		})
		if err != nil {
			return err
		}
	}
	if err := s.awaitReplication(ctx); err != nil {
		return err
	}
	for _, srv := range s.order {
		if err := srv.until(ctx, "to find the cluster well", srv.findsClusterWell); err != nil {
			return err
		}
	}
	return nil
}

func (srv *Server) findsClusterWell(ctx context.Context) error {
	text, err := srv.Client().ClusterInfo(ctx).Result()
	if err != nil {
		return err
	}
	info := fields(text)
	if info["cluster_state"] != "ok" || info["cluster_slots_ok"] != strconv.Itoa(keyspace.Slots) {
		return fmt.Errorf("cluster_state is %s, with %s slots ok", info["cluster_state"], info["cluster_slots_ok"])
	}
	nodes, err := srv.peers(ctx)
	if err != nil {
		return err
	}
	well := 0
	for _, n := range nodes {
		if n.well && n.servesSlots() == (n.server.rank == 0) {
			well++
		}
	}
	if well != len(srv.world.order) {
		return fmt.Errorf("it has found %d of %d nodes", well, len(srv.world.order))
	}
	return nil
}

// peer is a node in the view of another one.
type peer struct {
	clusterNode
	server *Server
	well   bool // the other one is connected to it
}

func (n clusterNode) servesSlots() bool { return n.is("master") && len(n.slots) > 0 }

func (srv *Server) peers(ctx context.Context) ([]peer, error) {
	text, err := srv.Client().ClusterNodes(ctx).Result()
	if err != nil {
		return nil, err
	}
	nodes, err := readClusterNodes(text)
	if err != nil {
		return nil, err
	}
	var all []peer
	for _, n := range nodes {
		node, ok := srv.world.behind(n.addr)
		if !ok {
			return nil, fmt.Errorf("%s has found a node that is none of ours: %s", srv.Name, n.addr)
		}
		all = append(all, peer{n, node, n.linked && !n.is("fail", "fail?")})
	}
	return all, nil
}

// owner asks a node for the owner of a group's slots, and its epoch.
func (srv *Server) owner(ctx context.Context, group int) (name string, epoch int, err error) {
	peers, err := srv.peers(ctx)
	if err != nil {
		return "", 0, err
	}
	for _, p := range peers {
		if p.server.group == group && p.servesSlots() && (name == "" || p.epoch > epoch) {
			name, epoch = p.server.Name, p.epoch
		}
	}
	if name == "" {
		return "", 0, errors.New("no node serves the group's slots")
	}
	return name, epoch, nil
}

// acceptsReplica returns the reason why a node would reject its replica's request,
// or nil. Right after a change of roles the node does not know the replica yet.
func (srv *Server) acceptsReplica(ctx context.Context, replica *Server) error {
	peers, err := srv.peers(ctx)
	if err != nil {
		return err
	}
	var its, own peer
	for _, p := range peers {
		switch p.server {
		case replica:
			its = p
		case srv:
			own = p
		}
	}
	if !its.well || its.of != own.id {
		return fmt.Errorf("%s does not know that %s is its replica", srv.Name, replica.Name)
	}
	return nil
}

// failoverTimeout is the time for which a cluster's node tries a manual failover. It
// reports a failure only in its log.
const failoverTimeout = 5 * time.Second

// takeOver makes a replica the owner of its group's slots, in the way of mode. It
// repeats a failed order: right after a cut has healed, nodes are not connected
// yet.
func (srv *Server) takeOver(ctx context.Context, mode ...any) error {
	var ordered time.Time
	return srv.until(ctx, "to take over", func(ctx context.Context) error {
		name, _, err := srv.owner(ctx, srv.group)
		switch {
		case err != nil:
			return err
		case name == srv.Name:
			return nil
		case time.Since(ordered) < failoverTimeout+time.Second:
			return fmt.Errorf("%s owns the slots", name)
		}
		if len(mode) == 0 { // it needs the owner's consent
			if err := srv.world.byName[name].acceptsReplica(ctx, srv); err != nil {
				return err
			}
		}
		ordered = time.Now()
		if err := srv.Client().Do(ctx, append([]any{"cluster", "failover"}, mode...)...).Err(); err != nil {
			ordered = time.Time{}
			return err
		}
		return fmt.Errorf("%s owns the slots", name)
	})
}
