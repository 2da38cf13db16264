package sim

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/random"
	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
	"github.com/holdfast-go/holdfast/internal/redis/resp"
	"github.com/holdfast-go/holdfast/internal/traffic"
	"github.com/holdfast-go/holdfast/sim/internal/script"
)

// The roles of a server.
const (
	rolePrimary = "primary"
	roleReplica = "replica"
)

// node is one Redis server: miniredis with its own clock. It executes one request
// at a time and detects the changes of each.
type node struct {
	name  string
	group int
	addr  *net.TCPAddr
	world *World

	// exec is held while a request executes. Nothing waits for time or for
	// another party while holding it.
	exec    sync.Mutex
	mr      *miniredis.Miniredis
	engine  *script.Engine // executes the requests of mr
	clock   clock
	data    keyspace.Data // what every key held when last looked at
	expiry  *time.Timer   // when it will look for expired keys
	next    time.Time     // the earliest expiry, by its clock; zero for none
	role    string
	up      bool
	offset  int64 // changes ever made here, what WAIT counts
	streams []*replicaStream
	acks    chan struct{} // closed when a replica confirms something, and when the server stops
	conns   []*pipeConn   // the server's ends
	follow  *follower     // not nil while a replica
	source  *pipeConn     // the replica's end of its connection to the primary, nil without one
	served  int           // commands executed
	sent    time.Time     // when the command that executes left its client, zero if unknown
	mark    string        // that of the goroutine that sent it
	scripts int           // of these, scripts

	blocked  []*blocked // requests that wait for others, oldest first
	asker    *session   // whose request executes
	inScript bool       // what executes is a script, or a transaction
	declared []string   // the keys of the script that executes, nil for others
	wrote    bool       // and it has written
	denials  []*denial  // of the faults that last
	refused  []string   // commands that cannot be followed, and have been asked for
	// literal has the scripts whose keys were looked for in their text: the lock of several
	// primaries asks for a refused one thousands of times.
	literal map[string]bool
}

func newNode(w *World, name string, group int, addr *net.TCPAddr, role string) *node {
	// No two servers' clocks agree to the nanosecond, or a primary and its
	// replica would drop a key at the same instant, in any order.
	off := time.Duration(random.Stream(w.opts.Seed, "clock", name).Int64N(int64(500 * time.Microsecond)))
	n := &node{name: name, group: group, addr: addr, world: w, role: role, clock: newClock(off), acks: make(chan struct{}), literal: map[string]bool{}}
	n.boot(nil)
	return n
}

// boot starts a fresh server process with the given data. The caller holds exec, or no
// other goroutine has the node.
func (n *node) boot(data keyspace.Data) {
	mr := miniredis.NewMiniRedis()
	if c, err := mr.Dial(); err == nil { // starts it without a listener
		c.Close()
	}
	n.mr, n.engine, n.up = mr, script.New(mr), true
	now := n.clock.now()
	mr.SetTime(now)
	mr.ClockTTL(true)
	n.refuseSome(mr.Server())
	n.data = keyspace.Data{}
	for _, k := range sortedKeys(data) {
		if err := keyspace.Write(mr, k, data[k], now); err != nil {
			n.world.fail(err)
		}
	}
	n.observe("restart", "", "")
}

// accept takes the server's end of a new connection.
func (n *node) accept(c *pipeConn, by string) error {
	n.exec.Lock()
	defer n.exec.Unlock()
	if !n.up {
		return &net.OpError{Op: "dial", Net: "tcp", Addr: n.addr, Err: errRefused}
	}
	n.conns = append(n.conns, c)
	go n.serve(c, n.engine, by)
	return nil
}

// serve executes the requests of one connection to a server process until it breaks.
func (n *node) serve(c *pipeConn, process *script.Engine, by string) {
	peer := server.NewPeer(bufio.NewWriter(c))
	in := bufio.NewReader(c)
	session := &session{node: n, by: by, conn: c, peer: peer, process: process, requests: process.Session(peer)}
	defer func() {
		c.Close()
		n.exec.Lock()
		defer n.exec.Unlock()
		n.conns = without(n.conns, c)
		session.requests.Execute([]string{"UNSUBSCRIBE"}) // as a disconnect does
		session.requests.Execute([]string{"PUNSUBSCRIBE"})
	}()
	for {
		if session.watched != nil {
			<-session.watched
			session.watched = nil
		}
		args, err := resp.ReadRequest(in)
		if err != nil {
			return
		}
		session.sent, session.mark = c.in.lastSent()
		if !session.execute(args, in) {
			return
		}
	}
}

// session is one client connection on a server.
type session struct {
	node     *node
	by       string
	conn     *pipeConn
	peer     *server.Peer
	process  *script.Engine // the server process it talks to
	requests *script.Session
	offset   int64     // the node's offset after this connection's last write
	sent     time.Time // when its last request left the client, zero if unknown
	mark     string    // that of the goroutine that sent it
	// published are the messages of its last request, or transaction, for the other nodes of
	// a cluster.
	published []publication

	multi   bool            // it is within a transaction
	asking  bool            // the next request may be for a slot that migrates to here
	blocked *blocked        // the request that has begun to wait
	watched <-chan struct{} // closed when no client reads from the connection any more; nil if none did
}

// execute runs one request and sends the reply; false ends the connection.
func (s *session) execute(args []string, in *bufio.Reader) bool {
	n, w := s.node, s.node.world
	cmd := strings.ToUpper(args[0])
	m := faults.Moment{Name: faults.Received, Client: s.by, Node: n.name, Command: cmd, Op: w.opOf(s.by)}
	if !faults.Quiet(cmd) {
		w.announce(m)
		s.waitWhileWithheld()
	}
	changed, ok := false, false
	if cmd == "WAIT" && n.world.opts.Server.HasCommand(cmd) {
		ok = s.waitForReplicas(args)
	} else {
		changed, ok = s.run(cmd, args)
	}
	if ok && s.blocked != nil {
		changed, ok = s.wait(in)
	}
	if !ok {
		return false
	}
	s.broadcast()
	if !faults.Quiet(cmd) {
		m.Name, m.Changed = faults.Executed, changed
		w.announce(m)
	}
	if a := s.conn.out.arrivals; a != nil {
		a.Asked(cmd)
	}
	if !n.isUp() { // a fault at this moment killed the server: no reply
		return false
	}
	s.peer.Flush()
	return true
}

// waitWhileWithheld waits while a fault withholds the arrived request.
func (s *session) waitWhileWithheld() {
	s.conn.in.link.used(traffic.Accepted)
	if withheld := s.conn.in.link.requests.Withheld(); withheld != nil {
		<-withheld
		s.conn.peer.takeTurn() // several requests may go on at one instant
	}
}

// run executes one command under the node's lock, and reports whether it changed a
// lock key. ok is false if the server process has ended.
func (s *session) run(cmd string, args []string) (changed, ok bool) {
	n := s.node
	n.exec.Lock()
	defer n.exec.Unlock()
	if !n.up || n.engine != s.process {
		return false, false // it died, perhaps as this request arrived; another has taken its place
	}
	n.served++
	if isScript(cmd) {
		n.scripts++
	}
	n.mr.SetTime(n.clock.now())
	n.expire()
	if cmd == "ASKING" && n.world.opts.Cluster {
		s.asking = true
		s.peer.WriteOK()
		return false, true
	}
	refusal := n.refuse(cmd, args, s.asking)
	if s.asking = s.asking && (s.multi || cmd == "MULTI"); refusal != "" {
		s.abortTransaction()
		s.peer.WriteError(refusal)
		return false, true
	}
	keys := s.dispatch(cmd, args)
	before := n.offset
	n.sent, n.mark = s.sent, s.mark
	changed = n.observeKeys(keys, "command", cmd, s.by)
	n.sent, n.mark = time.Time{}, ""
	if n.offset != before {
		s.offset = n.offset
	}
	return changed, true
}

// refuse is the error of a server that does not execute a command, or "". The caller
// holds exec.
func (n *node) refuse(cmd string, args []string, asking bool) string {
	if refusal := cmp.Or(n.refusedByProfile(cmd, args), n.deniedBy(cmd)); refusal != "" {
		return refusal
	}
	keys, write := keysOf(cmd, args)
	if n.world.opts.Server.Sharded && len(args) > 1 && slices.Contains([]string{"PUBLISH", "SUBSCRIBE"}, cmd) {
		keys = args[1:min(len(args), 2)]
	}
	if len(keys) > 0 && n.world.opts.Cluster {
		if elsewhere := n.redirect(keys, asking); elsewhere != "" {
			return elsewhere
		}
	}
	if write && n.role == roleReplica {
		return "READONLY You can't write against a read only replica."
	}
	return ""
}

// observe compares the data with the last observation, reports and replicates
// every change, and returns whether a lock key changed. The caller holds exec and
// has set the server's clock.
func (n *node) observe(cause, cmd, by string) (lockChanged bool) {
	changes, err := n.data.Update(n.mr, n.clock.now())
	return n.noteChanges(changes, err, cause, cmd, by)
}

// noteChanges reports and replicates changes, and returns whether a lock key changed.
func (n *node) noteChanges(changes []keyspace.Change, err error, cause, cmd, by string) (lockChanged bool) {
	if err != nil {
		n.cannotFollow(cmd, err.Error())
	}
	for i, c := range changes {
		c.Cause, c.Command, c.By = cause, cmd, by
		if cause == "command" {
			c.Sent, c.Owner = n.sent, n.mark
		}
		later := changes[i+1:]
		c.More = slices.ContainsFunc(later, func(c keyspace.Change) bool { return n.world.opts.LockKey(c.Key) })
		lockChanged = n.report(c, len(later) > 0) || lockChanged
	}
	n.reportEnd()
	n.schedule(changes)
	n.serveBlocked()
	return lockChanged
}

// observeKeys is observe for a request that can have changed only these keys.
func (n *node) observeKeys(keys script.Keys, cause, cmd, by string) (lockChanged bool) {
	if keys.Any {
		return n.observe(cause, cmd, by)
	}
	if len(keys.Names) == 0 {
		return false
	}
	changes, err := n.data.UpdateKeys(n.mr, n.clock.now(), keys.Names)
	return n.noteChanges(changes, err, cause, cmd, by)
}

// report reports and replicates a change; more says that the next one is of the same
// command.
func (n *node) report(c keyspace.Change, more bool) bool {
	if c.Cause == "command" && c.Expired() {
		c.Cause, c.Command, c.By = "expiry", "", ""
	}
	n.offset++
	if c.Cause != "replication" || n.role == rolePrimary {
		n.replicate(c.Key, c.After, more)
	}
	c.Node, c.Role, c.At = n.name, n.role, time.Now()
	n.world.changed(c)
	return n.world.opts.LockKey(c.Key)
}

func (n *node) isUp() bool {
	n.exec.Lock()
	defer n.exec.Unlock()
	return n.up
}

// stop kills the server process and breaks its connections. Its memory stays in
// data, for a restart that keeps it.
func (n *node) stop() error {
	n.exec.Lock()
	if !n.up {
		n.exec.Unlock()
		return fmt.Errorf("%s is already down", n.name)
	}
	n.up = false
	n.blocked = nil
	n.unschedule()
	conns := slices.Clone(n.conns)
	if n.source != nil {
		conns = append(conns, n.source)
	}
	n.streams = nil
	n.wakeWaiters()
	mr := n.mr
	n.exec.Unlock()
	for _, c := range conns {
		c.reset()
	}
	mr.Close()
	return nil
}

// start boots it again, with or without its data.
func (n *node) start(keepData bool) error {
	n.exec.Lock()
	defer n.exec.Unlock()
	if n.up {
		return fmt.Errorf("%s is already up", n.name)
	}
	old, cause := n.data, "restart"
	if keepData {
		n.boot(old)
		maps.Copy(old, n.data)
		cause = "expiry"
	} else {
		n.boot(nil)
	}
	n.data = old // so that what is gone, or has expired meanwhile, is noticed
	n.observe(cause, "", "")
	return nil
}

// setClock moves the clock. Expiry times are absolute, as in Redis: a jump
// forward ends leases early, a jump back makes them last longer.
func (n *node) setClock(jump time.Duration, rate float64) error {
	if rate <= 0 {
		return errors.New("a clock's rate must be above 0")
	}
	n.exec.Lock()
	defer n.exec.Unlock()
	was := n.clock.now()
	n.clock = n.clock.set(jump, rate)
	if !n.up {
		return nil
	}
	n.unschedule() // its timer counts by the old clock
	n.mr.SetTime(was)
	n.mr.DB(0) // what has passed by the old clock has passed
	n.mr.SetTime(n.clock.now())
	if jump < 0 { // miniredis keeps what is left; Redis keeps the moment, and no key has changed
		n.mr.FastForward(jump)
	}
	n.observe("expiry", "", "")
	if jump < 0 && n.world.opts.NextEnd != nil {
		n.reportTime() // an end that the lock keeps in a value has not passed any more
	}
	return nil
}

// edit changes data without a client command: an eviction, an operator.
func (n *node) edit(f func(mr *miniredis.Miniredis)) error {
	n.exec.Lock()
	defer n.exec.Unlock()
	if !n.up {
		return fmt.Errorf("%s is down", n.name)
	}
	n.mr.SetTime(n.clock.now())
	f(n.mr)
	n.observe("fault", "", "")
	return nil
}
