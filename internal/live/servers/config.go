package servers

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/party"
)

// config is the initial configuration of a server. Sentinel and the cluster change
// it later, and a restart keeps their changes.
func (srv *Server) config() string {
	var b strings.Builder
	set := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	set("bind 127.0.0.1")
	set("port %d", srv.port)
	set("protected-mode yes")
	if o := srv.world.opts; o.Replicas > 0 || o.Sentinel || o.Cluster { // the others tell it by its address; Redis 6.2 has no such option
		set("bind-source-addr %s", srv.source)
	}
	set("daemonize no")
	set(`logfile ""`) // to its output, which goes to a file together with what it says before that
	if srv.sentinel {
		srv.sentinelConfig(set)
		return b.String()
	}
	o := srv.world.opts
	if o.User {
		set("user %s on nopass ~* &* +@all", asClient.user)
	}
	set("dir %s", dataName)
	set(`save ""`)
	if o.Persist {
		set("appendonly yes")
		set("appendfsync always")
	}
	set("maxclients 1000")
	set("notify-keyspace-events AE") // for Truth; the server is to report expired keys soon
	set("hz 50")
	set("repl-diskless-sync no") // after a diskless one nothing flows until the replica's first word, up to a second later
	set("repl-ping-replica-period 1")
	set("replica-announce-ip 127.0.0.1")
	set("replica-announce-port %d", srv.door.Addr().Port)
	set("replica-priority %d", srv.priority())
	if o.Cluster {
		set("cluster-enabled yes")
		set("cluster-config-file nodes.conf")
		set("cluster-node-timeout %d", o.Detect.Milliseconds())
		set("cluster-replica-validity-factor 0") // a replica may take over however long it was cut off
		set("cluster-allow-replica-migration no")
		set("cluster-port %d", srv.bus)
		set("cluster-announce-ip 127.0.0.1")
		set("cluster-announce-port %d", srv.door.Addr().Port)
		set("cluster-announce-bus-port %d", srv.busDoor.Addr().Port)
		return b.String()
	}
	if srv.rank > 0 {
		set("replicaof 127.0.0.1 %d", srv.world.members(srv.group)[0].door.Addr().Port)
	}
	return b.String()
}

// priority is a node's place in the queue to become primary, the lowest first:
// the replicas in their order, then the first primary.
func (srv *Server) priority() int {
	if srv.rank == 0 {
		return 100
	}
	return 10 + srv.rank
}

func (srv *Server) sentinelConfig(set func(string, ...any)) {
	w := srv.world
	set("dir .")
	set("sentinel announce-ip 127.0.0.1")
	set("sentinel announce-port %d", srv.door.Addr().Port)
	for g := 1; g <= w.opts.Groups; g++ {
		name := watched(g)
		set("sentinel monitor %s 127.0.0.1 %d %d", name, w.members(g)[0].door.Addr().Port, quorum)
		set("sentinel down-after-milliseconds %s %d", name, srv.detect().Milliseconds())
		set("sentinel failover-timeout %s %d", name, abandonFailover(w.opts.Detect).Milliseconds())
		set("sentinel parallel-syncs %s %d", name, max(1, w.opts.Replicas))
	}
}

// detect is the silence of a primary after which a Sentinel reports it. Two
// Sentinels suffice to agree, and the third is slower. If all three became
// candidates at one moment, each could vote for itself, and the election would
// fail.
func (srv *Server) detect() time.Duration {
	if srv.rank == sentinels {
		return 2 * srv.world.opts.Detect
	}
	return srv.world.opts.Detect
}

// watched is the Sentinels' name of a group: that of its first primary.
func watched(group int) string { return party.Node(group) }

// abandonFailover is when a Sentinel gives up a failover; after twice the time it
// tries again. It checks once a second how far the replica is.
func abandonFailover(detect time.Duration) time.Duration { return max(4*detect, 3*time.Second) }
