package sim

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
	"github.com/holdfast-go/holdfast/sim/internal/script"
)

// effect is one change on its way to a replica. It is an effect, not a command: a
// change by a script or an expiry travels as the key's new value, in order.
type effect struct {
	Offset int64          `json:"offset"`
	Key    string         `json:"key,omitempty"`
	Value  keyspace.Value `json:"value,omitzero"`
	// Snapshot, on the first effect of a connection, is all the data: a full resync.
	Snapshot map[string]keyspace.Value `json:"snapshot,omitempty"`
	Full     bool                      `json:"full,omitempty"`
	// More says that the next effect is of the same command. Redis sends the writes of a
	// script as one transaction, so a replica has all of them or none.
	More bool `json:"more,omitempty"`
}

// replicaStream is the primary's end of one replica's link.
type replicaStream struct {
	name  string // the replica's
	conn  *pipeConn
	acked int64 // the offset it has confirmed; guarded by the node's exec
}

func (s *replicaStream) send(e effect) {
	b, err := json.Marshal(e)
	if err != nil {
		panic("sim: encode effect: " + err.Error()) // strings and times: cannot happen
	}
	s.conn.Write(append(b, '\n')) // a broken link is noticed by the replica
}

// replicate sends a change to every replica. The caller holds exec.
func (n *node) replicate(key string, v keyspace.Value, more bool) {
	for _, s := range n.streams {
		s.send(effect{Offset: n.offset, Key: key, Value: v, More: more})
	}
}

// acceptReplica starts a full resync over a new replication connection.
func (n *node) acceptReplica(c *pipeConn, replica string) error {
	n.exec.Lock()
	defer n.exec.Unlock()
	if !n.up {
		return fmt.Errorf("%s is down", n.name)
	}
	s := &replicaStream{name: replica, conn: c, acked: -1}
	s.send(effect{Offset: n.offset, Full: true, Snapshot: n.data})
	n.streams = append(n.streams, s)
	n.conns = append(n.conns, c)
	go n.collectAcks(s)
	return nil
}

// collectAcks records a replica's confirmations until its link breaks.
func (n *node) collectAcks(s *replicaStream) {
	in := bufio.NewScanner(s.conn)
	for in.Scan() {
		offset, err := strconv.ParseInt(in.Text(), 10, 64)
		if err != nil {
			n.world.fail(fmt.Errorf("replication ack to %s: %w", n.name, err))
			break
		}
		n.exec.Lock()
		s.acked = offset
		n.wakeWaiters()
		n.exec.Unlock()
	}
	s.conn.Close()
	n.exec.Lock()
	defer n.exec.Unlock()
	n.streams = without(n.streams, s)
	n.conns = without(n.conns, s.conn)
}

// wakeWaiters makes every WAIT check again. The caller holds exec.
func (n *node) wakeWaiters() {
	close(n.acks)
	n.acks = make(chan struct{})
}

// follower keeps a replica connected to its primary.
type follower struct {
	stop context.CancelFunc
	done chan struct{}
}

// follows makes n a replica of primary until unfollow: n reconnects and applies
// the arriving effects.
func (n *node) follows(primary *node) {
	ctx, stop := context.WithCancel(context.Background())
	f := &follower{stop: stop, done: make(chan struct{})}
	n.exec.Lock()
	n.role, n.follow = roleReplica, f
	n.exec.Unlock()
	go func() {
		defer close(f.done)
		for ctx.Err() == nil {
			n.sync(ctx, primary)
			select {
			case <-ctx.Done():
			case <-time.After(time.Second): // as a replica's reconnect does
			}
		}
	}()
}

// unfollow ends the replication of n.
func (n *node) unfollow() {
	n.exec.Lock()
	f := n.follow
	n.follow = nil
	n.exec.Unlock()
	if f != nil {
		f.stop()
		<-f.done
	}
}

// sync runs one replication connection until it breaks.
func (n *node) sync(ctx context.Context, primary *node) {
	l := n.world.link(n.name, primary.name)
	c, err := l.open(ctx, nil, n.addr, primary.addr, func(server *pipeConn) error { return primary.acceptReplica(server, n.name) })
	if err != nil {
		return
	}
	defer context.AfterFunc(ctx, c.reset)()
	defer c.Close()
	n.setSource(c)
	defer n.setSource(nil)
	in := bufio.NewReader(c)
	var command []effect // what has arrived of it
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var e effect
		if err := json.Unmarshal(line, &e); err != nil {
			n.world.fail(fmt.Errorf("replicate to %s: %w", n.name, err))
			return
		}
		if command = append(command, e); !e.More {
			if !n.apply(ctx, command) {
				return
			}
			command = nil
		}
		if _, err := fmt.Fprintf(c, "%d\n", e.Offset); err != nil {
			return
		}
	}
}

// setSource notes the connection that stop has to break.
func (n *node) setSource(c *pipeConn) {
	n.exec.Lock()
	defer n.exec.Unlock()
	n.source = c
}

// apply applies the effects of a command; false ends the connection.
func (n *node) apply(ctx context.Context, command []effect) bool {
	n.exec.Lock()
	defer n.exec.Unlock()
	if !n.up || ctx.Err() != nil {
		return false
	}
	now := n.clock.now()
	n.mr.SetTime(now)
	n.expire()
	if e := command[0]; e.Full {
		n.mr.FlushAll()
		for _, k := range sortedKeys(e.Snapshot) {
			if err := keyspace.Write(n.mr, k, e.Snapshot[k], now); err != nil {
				n.world.fail(err)
			}
		}
		n.observe("replication", "", "")
		return true
	}
	var keys script.Keys
	for _, e := range command {
		if err := keyspace.Write(n.mr, e.Key, e.Value, now); err != nil {
			n.world.fail(err)
		}
		keys.Names = append(keys.Names, e.Key)
	}
	n.observeKeys(keys, "replication", "", "")
	return true
}

// waitForReplicas is the WAIT command. It answers with the number of confirmations
// once enough replicas have confirmed this connection's last write, or at the
// timeout. false means that the server is down.
func (s *session) waitForReplicas(args []string) bool {
	n := s.node
	n.exec.Lock()
	n.served++
	n.exec.Unlock()
	if len(args) != 3 {
		s.peer.WriteError("ERR wrong number of arguments for 'wait' command")
		return true
	}
	want, err1 := strconv.Atoi(args[1])
	ms, err2 := strconv.Atoi(args[2])
	if err1 != nil || err2 != nil || ms < 0 {
		s.peer.WriteError("ERR value is not an integer or out of range")
		return true
	}
	var over <-chan time.Time
	if ms > 0 {
		t := time.NewTimer(time.Duration(ms) * time.Millisecond)
		defer t.Stop()
		over = t.C
	}
	for {
		n.exec.Lock()
		if !n.up {
			n.exec.Unlock()
			return false
		}
		acked, acks := 0, n.acks
		for _, r := range n.streams {
			if r.acked >= s.offset {
				acked++
			}
		}
		n.exec.Unlock()
		if acked < want {
			select {
			case <-acks:
				continue
			case <-over:
			}
		}
		s.peer.WriteInt(acked)
		return true
	}
}
