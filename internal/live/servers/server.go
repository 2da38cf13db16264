package servers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/adapter/bundled"
	"github.com/holdfast-go/holdfast/internal/live/processes"
	"github.com/holdfast-go/holdfast/internal/live/proxy"
)

// Server is one process of redis-server, valkey-server or miniredis, or one
// that is no Redis, or the place of one that is down.
type Server struct {
	world    *Servers
	Name     string
	group    int // 0 for a Sentinel
	rank     int // 0 for the first primary, then 1, 2, ... for its replicas; of Sentinels, their number
	sentinel bool
	argv     []string // what starts it, but for the configuration file
	dir      string
	source   net.IP                       // what it connects from
	door     *proxy.Listener              // what it announces
	busDoor  *proxy.Listener              // in a cluster
	pairs    map[string][]*proxy.Listener // with two peers, the doors for each of the others
	clock    *clock                       // with Options.Clocks, of nodes
	external *place                       // of Backend.External; nil for a process of ours

	killed atomic.Bool // it is about to be: clients take it for dead

	mu        sync.Mutex
	port, bus int
	bus2      int      // with two peers
	proc      *process // nil while it is down
	admin     *redis.Client
	observer  Observer // nil without one
}

// process is a started process. done is closed when it has ended.
type process struct {
	cmd     *exec.Cmd
	done    chan struct{}
	wanted  bool            // its end is; guarded by the server's mutex
	control *bundledControl // of a foreign server
}

// ServerError is an error of a server, with the end of its log.
type ServerError struct {
	Server string
	Log    string // its last lines
	Err    error
}

func (e *ServerError) Error() string {
	if e.Log == "" {
		return fmt.Sprintf("%s: %v; its log is empty", e.Server, e.Err)
	}
	return fmt.Sprintf("%s: %v; the end of its log:\n%s", e.Server, e.Err, e.Log)
}

func (e *ServerError) Unwrap() error { return e.Err }

// failed says what an error ended; nil stays nil.
func failed(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)
}

func (srv *Server) wrong(err error) error {
	if err == nil || errors.As(err, new(*ServerError)) {
		return err
	}
	if srv.external != nil {
		return fmt.Errorf("%s at %s: %w", srv.Name, srv.external.addr, err)
	}
	return &ServerError{Server: srv.Name, Log: srv.logTail(), Err: err}
}

const (
	logName  = "log"
	confName = "redis.conf"
	dataName = "data"
)

func (srv *Server) logTail() string {
	b, err := os.ReadFile(filepath.Join(srv.dir, logName))
	if err != nil {
		return ""
	}
	b = bytes.TrimSpace(b)
	lines := bytes.Split(b, []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-12):], []byte("\n")))
}

// Log is the log of a server, through all its starts.
func (s *Servers) Log(name string) (string, error) {
	srv, err := s.server(name)
	if err != nil {
		return "", err
	}
	if srv.external != nil {
		return "", nil // its address is unknown
	}
	b, err := os.ReadFile(filepath.Join(srv.dir, logName))
	if err != nil {
		return "", fmt.Errorf("read the log of %s: %w", name, err)
	}
	return string(b), nil
}

func (srv *Server) addr() string {
	if srv.external != nil {
		return srv.external.addr
	}
	return srv.at(&srv.port)
}

// openAddr is the address for clients, or "" right after the start, before an observer is
// there.
func (srv *Server) openAddr() string {
	if o := srv.observing(); o != nil && !o.Watching() {
		return ""
	}
	return srv.addr()
}

func (srv *Server) busAddr() string   { return srv.at(&srv.bus) }
func (srv *Server) peer2Addr() string { return srv.at(&srv.bus2) }

// at is the address of one of the server's ports.
func (srv *Server) at(port *int) string {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	return loopback(*port)
}

// attempts is the number of ports that a server tries, because others may take one
// first.
const attempts = 5

// launch gives a server its port and configuration, and starts it.
func (s *Servers) launch(ctx context.Context, srv *Server) error {
	if err := os.Mkdir(filepath.Join(srv.dir, dataName), 0o700); err != nil {
		return fmt.Errorf("make the data directory of %s: %w", srv.Name, err)
	}
	for n := 1; ; n++ {
		port, err := processes.FreePort()
		if err != nil {
			return err
		}
		bus, bus2 := 0, 0
		switch f := s.bundled(); {
		case f != nil && f.Promoted:
			bus = port // who follows connects as clients do
		case s.opts.Cluster || f != nil:
			if bus, err = processes.FreePort(); err != nil {
				return err
			}
		}
		if f := s.bundled(); f != nil && f.TwoPeers {
			if bus2, err = processes.FreePort(); err != nil {
				return err
			}
		}
		srv.mu.Lock()
		srv.port, srv.bus, srv.bus2 = port, bus, bus2
		srv.mu.Unlock()
		if err := srv.configure(); err != nil {
			return err
		}
		err = srv.start(ctx)
		if err == nil || n == attempts || !slices.ContainsFunc([]int{port, bus, bus2}, processes.PortTaken) {
			return err
		}
	}
}

// configure writes the configuration of a server; a bundled one gets it as an
// order.
func (srv *Server) configure() error {
	if srv.world.bundled() != nil {
		return nil
	}
	err := os.WriteFile(filepath.Join(srv.dir, confName), []byte(srv.config()), 0o600)
	return failed(err, "write the configuration of %s", srv.Name)
}

// start starts the process and returns when it answers.
func (srv *Server) start(ctx context.Context) error {
	log, err := os.OpenFile(filepath.Join(srv.dir, logName), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the log of %s: %w", srv.Name, err)
	}
	defer log.Close()
	cmd := exec.Command(srv.argv[0], srv.args()...)
	cmd.Dir, cmd.Stderr = srv.dir, log
	if srv.clock != nil {
		cmd.Env = append(os.Environ(), srv.clock.env()...)
	}
	p := &process{cmd: cmd, done: make(chan struct{})}
	if srv.world.bundled() == nil {
		cmd.Stdout = log
	} else if p.control, err = newBundledControl(cmd); err != nil {
		return fmt.Errorf("start %s: %w", srv.Name, err)
	}
	srv.mu.Lock()
	if srv.proc != nil {
		srv.mu.Unlock()
		return fmt.Errorf("%s runs already", srv.Name)
	}
	if err := processes.Spawn(cmd); err != nil {
		srv.mu.Unlock()
		return fmt.Errorf("start %s: %w", srv.Name, err)
	}
	srv.proc = p
	p.wanted = true // until it answers, the caller that starts it sees its end
	pidErr := processes.WritePID(srv.dir, cmd.Process.Pid)
	srv.mu.Unlock()
	go srv.watch(p)
	if pidErr == nil {
		pidErr = srv.awaitAnswer(ctx, p)
	}
	if pidErr == nil && srv.clock != nil {
		pidErr = srv.clock.readBy(cmd.Process.Pid)
	}
	if pidErr != nil {
		return errors.Join(srv.wrong(fmt.Errorf("start: %w", pidErr)), srv.kill())
	}
	srv.mu.Lock()
	p.wanted = false
	srv.mu.Unlock()
	return nil
}

func (srv *Server) args() []string {
	args := slices.Clone(srv.argv[1:])
	if srv.world.bundled() != nil {
		return args
	}
	args = append(args, confName)
	if srv.sentinel {
		args = append(args, "--sentinel")
	}
	return args
}

func (srv *Server) awaitAnswer(ctx context.Context, p *process) error {
	if p.control != nil {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		_, err := p.control.ask(ctx, bundled.Order{Do: bundled.Start, Server: srv.settings()})
		return err
	}
	return srv.until(ctx, "to answer", func(ctx context.Context) error {
		select {
		case <-p.done:
			return errGone
		default:
			return srv.answers(ctx, p.cmd.Process.Pid)
		}
	})
}

// answers returns an error unless this server, and not another one at its port,
// answers.
func (srv *Server) answers(ctx context.Context, pid int) error {
	// A go-redis client that was refused several times does not even try for a
	// second.
	c, err := new(net.Dialer).DialContext(ctx, "tcp4", srv.addr())
	if err != nil {
		return err
	}
	c.Close()
	info, err := srv.info(ctx, "server")
	if err == nil && info["process_id"] != strconv.Itoa(pid) {
		return fmt.Errorf("process %s answers in its place", info["process_id"])
	}
	if err != nil {
		return err
	}
	return srv.Client().Ping(ctx).Err() // refused while it loads its data, unlike INFO
}

// errGone ends a wait for a server whose process has ended.
var errGone = errors.New("its process has ended")

// watch waits for the end of the process, which is a failure of the world unless
// it was requested.
func (srv *Server) watch(p *process) {
	err := p.cmd.Wait()
	srv.mu.Lock()
	wanted := p.wanted
	if srv.proc == p {
		srv.proc = nil
	}
	srv.mu.Unlock()
	if !wanted {
		srv.world.fail(srv.wrong(fmt.Errorf("died by itself: %w", errors.Join(err, errGone))))
	}
	p.control.end()
	close(p.done)
}

// PID is the process of the server, 0 while it is down.
func (srv *Server) PID() int {
	switch p := srv.running(); {
	case p == nil:
		return 0
	case srv.external != nil:
		return externalPID
	default:
		return p.cmd.Process.Pid
	}
}

func (srv *Server) up() bool { return srv.running() != nil }

// running is the server's process, nil while it is down.
func (srv *Server) running() *process {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	return srv.proc
}

// ended is closed when the process that runs now has ended; it is nil while the
// server is down.
func (srv *Server) ended() <-chan struct{} {
	if p := srv.running(); p != nil {
		return p.done
	}
	return nil
}

// signal sends a signal to the process. With last, the process is to end.
func (srv *Server) signal(sig syscall.Signal, last bool) (*process, error) {
	if err := srv.mayControl(); err != nil {
		return nil, err
	}
	srv.mu.Lock()
	defer srv.mu.Unlock()
	p := srv.proc
	if p == nil {
		return nil, fmt.Errorf("%s is down", srv.Name)
	}
	p.wanted = p.wanted || last
	// The process has not been waited for, or proc were nil: the pid is its own.
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return nil, fmt.Errorf("send %v to %s: %w", sig, srv.Name, err)
	}
	return p, nil
}

// kill ends the process at once; nothing happens when it is down.
func (srv *Server) kill() error {
	if srv.external != nil || !srv.up() {
		return nil
	}
	p, err := srv.signal(syscall.SIGKILL, true)
	if err != nil {
		return err
	}
	return p.await(srv.Name)
}

// await waits for the end of a process that the harness has stopped.
func (p *process) await(name string) error {
	select {
	case <-p.done:
		return nil
	case <-time.After(limit):
		return fmt.Errorf("%s does not end within %s", name, limit)
	}
}

// Client is a connection of the harness' own, straight to the server: no toxic
// touches it.
func (srv *Server) Client() *redis.Client {
	addr := srv.addr()
	srv.mu.Lock()
	defer srv.mu.Unlock()
	if srv.admin == nil || srv.admin.Options().Addr != addr {
		if srv.admin != nil {
			srv.admin.Close()
		}
		srv.admin = straightTo(addr, srv.way())
	}
	return srv.admin
}

func (srv *Server) close() error {
	err := srv.kill()
	if srv.world.bundled() == nil {
		srv.Client().Close() // and stays, so that a late client is refused
	}
	srv.door.Close()
	srv.busDoor.Close()
	for _, doors := range srv.pairs {
		for _, door := range doors {
			door.Close()
		}
	}
	return err
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
