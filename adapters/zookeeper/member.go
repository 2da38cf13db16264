package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/holdfast-go/holdfast/adapters/process"
	"github.com/holdfast-go/holdfast/internal/adapter/bundled"
)

// tick is a tenth of ZooKeeper's default. A session lasts two ticks at least, a
// follower may be silent for ten.
const tick = 200 * time.Millisecond

// member is a member of the ensemble.
type member struct {
	bundled.Settings
	dir, conf string
	proc      *process.Program
	failed    chan error
}

func newMember(s bundled.Settings) (bundled.Server, error) {
	dir, err := filepath.Abs(s.Data)
	if err != nil {
		return nil, err
	}
	m := &member{Settings: s, dir: dir, conf: filepath.Join(dir, "zoo.cfg"), failed: make(chan error, 1)}
	host, port, err := net.SplitHostPort(s.Client)
	if err != nil {
		return nil, err
	}
	lines := []string{
		fmt.Sprintf("tickTime=%d", tick.Milliseconds()), "initLimit=50", "syncLimit=20", "dataDir=" + dir, "clientPort=" + port, "clientPortAddress=" + host,
		"maxSessionTimeout=120000", "admin.enableServer=false", "4lw.commands.whitelist=srvr", "maxClientCnxns=0", "cnxTimeout=500",
	}
	for name := range s.Members {
		peer, vote := s.Members[name], s.Members2[name] // its own are where it listens
		_, votePort, err := net.SplitHostPort(vote)
		if err != nil {
			return nil, err
		}
		lines = append(lines, fmt.Sprintf("server.%d=%s:%s", m.id(name), peer, votePort))
	}
	slices.Sort(lines)
	if err := os.WriteFile(m.conf, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		return nil, err
	}
	return m, os.WriteFile(filepath.Join(dir, "myid"), []byte(strconv.Itoa(m.id(s.Name))), 0o600)
}

// id numbers the members. Where all know the same, the greatest leads: the
// first, and after it the others in turn.
func (m *member) id(name string) int {
	names := make([]string, 0, len(m.Members))
	for n := range m.Members {
		names = append(names, n)
	}
	slices.Sort(names)
	return len(names) - slices.Index(names, name)
}

// electionPatience is the time for which a member waits for the one that is to lead
// first.
const electionPatience = 12 * time.Second

// Start implements [bundled.Server]: it returns when the member takes part.
func (m *member) Start(ctx context.Context) error {
	err := m.launch(ctx)
	if err != nil {
		m.Stop()
	}
	return err
}

func (m *member) launch(ctx context.Context) error {
	java, err := exec.LookPath("java")
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(m.dir, "version-2")); errors.Is(err, os.ErrNotExist) {
		m.awaitGreatest(ctx)
	}
	// Nothing is synced to the disk: what crashes is a process, and the machine goes on.
	cmd := exec.Command(java, "-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Dzookeeper.forceSync=no", "-Dzookeeper.preAllocSize=256",
		"-Djava.net.preferIPv4Stack=true",
		// Members that found no member to vote with ask again, less and less often, up to
		// once in a minute.
		"-Dzookeeper.fastleader.maxNotificationInterval=500",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=info", "-Dorg.slf4j.simpleLogger.log.org.apache.zookeeper.server.NIOServerCnxn=warn", "-cp", jar+":"+logger, "org.apache.zookeeper.server.quorum.QuorumPeerMain", m.conf)
	cmd.Dir = m.dir
	if m.proc, err = process.Launch(cmd, m.failed); err != nil {
		return err
	}
	return m.proc.Until(ctx, "take part", func(ctx context.Context) error {
		_, _, err := m.status(ctx)
		return err
	})
}

// awaitGreatest waits until the member that is to lead first can be voted for:
// two others that are quicker would have elected one of them.
func (m *member) awaitGreatest(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, electionPatience)
	defer cancel()
	for name, addr := range m.Members2 {
		for m.id(name) == len(m.Members) && name != m.Name && ctx.Err() == nil && !listens(ctx, addr) {
		}
	}
}

// listens says whether a member listens behind a proxy, which ends a connection
// that leads nowhere.
func listens(ctx context.Context, addr string) bool {
	c, err := new(net.Dialer).DialContext(ctx, "tcp4", addr)
	if err != nil {
		return false
	}
	defer c.Close()
	_ = c.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
	_, err = c.Read(make([]byte, 1))
	var late net.Error
	return errors.As(err, &late) && late.Timeout()
}

// Failed implements [bundled.Server].
func (m *member) Failed() <-chan error { return m.failed }

// Stop implements [bundled.Server].
func (m *member) Stop() { m.proc.End(syscall.SIGKILL) }

// HandOver implements [bundled.Server]. ZooKeeper has no command for it, so the
// leader restarts, and the others elect whom they like.
func (m *member) HandOver(ctx context.Context, _ string) error {
	m.Stop()
	select { // until the others have noticed, and agreed
	case <-time.After(time.Second):
	case <-ctx.Done():
		return ctx.Err()
	}
	return m.Start(ctx)
}

// Leadership implements [bundled.Electing].
func (m *member) Leadership(ctx context.Context) (bundled.Leadership, error) {
	mode, term, err := m.status(ctx)
	l := bundled.Leadership{Term: term, Follows: mode == "follower"}
	if mode == "leader" {
		l.Leader = m.Name
	}
	return l, err
}

// status asks the member what it is, and for the epoch of its leader.
func (m *member) status(ctx context.Context) (mode string, epoch int, err error) {
	c, err := new(net.Dialer).DialContext(ctx, "tcp4", m.Client)
	if err != nil {
		return "", 0, err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(2 * time.Second)); err != nil {
		return "", 0, err
	}
	if _, err := io.WriteString(c, "srvr"); err != nil {
		return "", 0, err
	}
	text, err := io.ReadAll(c)
	if err != nil {
		return "", 0, err
	}
	for line := range strings.Lines(string(text)) {
		if v, ok := strings.CutPrefix(line, "Mode: "); ok {
			mode = strings.TrimSpace(v)
		}
		if v, ok := strings.CutPrefix(line, "Zxid: 0x"); ok {
			zxid, err := strconv.ParseInt(strings.TrimSpace(v), 16, 64)
			if err != nil {
				return "", 0, err
			}
			epoch = int(zxid >> 32)
		}
	}
	if mode == "" {
		return "", 0, fmt.Errorf("it takes no part: %s", strings.TrimSpace(string(text)))
	}
	return mode, epoch, nil
}

// session opens a session with this member alone.
func (m *member) session() (*zk.Conn, error) {
	c, events, err := zk.Connect([]string{m.Client}, 10*time.Second, zk.WithLogger(silent{}), zk.WithLogInfo(false))
	if err != nil {
		return nil, err
	}
	late := time.After(5 * time.Second)
	for {
		select {
		case e := <-events:
			if e.State == zk.StateHasSession {
				return c, nil
			}
		case <-late:
			c.Close()
			return nil, errors.New("no session within 5 s")
		}
	}
}

// silent keeps the client from writing a log.
type silent struct{}

func (silent) Printf(string, ...any) {}

// root is where the locks lie.
const root = "/holdfast"

// Keys implements [bundled.Server]. Each node stands for a holder or a waiter.
func (m *member) Keys(context.Context) ([]string, error) {
	c, err := m.session()
	if err != nil {
		return nil, err
	}
	defer c.Close()
	names, _, err := c.Children(root)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	var keys []string
	for _, n := range names {
		nodes, _, nodesErr := c.Children(root + "/" + n)
		if err = errors.Join(err, nodesErr); err != nil {
			return nil, err
		}
		for _, node := range nodes {
			keys = append(keys, n+"/"+node)
		}
	}
	return keys, err
}

// Delete implements [bundled.Server].
func (m *member) Delete(_ context.Context, name string) error {
	c, err := m.session()
	if err != nil {
		return err
	}
	defer c.Close()
	first, _, err := holder(c, pathOf(name))
	if err != nil {
		return err
	}
	if first == "" {
		return fmt.Errorf("no owner holds %q", name)
	}
	return c.Delete(first, -1)
}
