package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/stdlib"
	"golang.org/x/sys/unix"

	"github.com/holdfast-go/holdfast/adapters/process"
	"github.com/holdfast-go/holdfast/internal/adapter/bundled"
)

// superuser is whose servers they are, and who asks for locks.
const superuser = "holdfast"

func postgresTool(name string) string { return firstOf(name, "/usr/lib/postgresql/*/bin") }

func missingPostgres() string {
	if postgresTool("postgres") == "" || postgresTool("initdb") == "" || postgresTool("pg_basebackup") == "" {
		return "PostgreSQL's server is not installed (Debian's package postgresql)"
	}
	return ""
}

var postgresVersion = sync.OnceValue(func() string { return versionOf(postgresTool("postgres")) })

// postgresServer is a member of PostgreSQL.
type postgresServer struct{ member }

func newPostgresServer(s bundled.Settings) (bundled.Server, error) {
	db, _ := sql.Open("pgx", "postgres://"+superuser+"@"+s.Client+"/postgres?sslmode=disable&application_name=harness") // opens nothing yet
	return &postgresServer{newMember(s, "postgres", db)}, nil
}

// Stop implements [bundled.Server].
func (s *postgresServer) Stop() { s.end(syscall.SIGQUIT) }

// standby is the file that makes PostgreSQL follow another.
const standby = "standby.signal"

// Start implements [bundled.Server]. The data of a former leader may differ from that of
// the leader: it is made anew.
func (s *postgresServer) Start(ctx context.Context) error {
	_, hasData := os.Stat(filepath.Join(s.dir, "PG_VERSION"))
	_, followed := os.Stat(filepath.Join(s.dir, standby))
	switch {
	case hasData == nil && (s.Leader == s.Name) == (followed != nil):
		s.leads = s.Leader
		return s.run(ctx)
	case s.Leader != s.Name:
		return s.Follow(ctx, s.Leader)
	}
	if err := s.initialize(ctx); err != nil {
		return err
	}
	s.leads = s.Name
	if err := s.run(ctx); err != nil {
		return err
	}
	_, err := s.db.ExecContext(ctx, `CREATE TABLE locks (name text PRIMARY KEY, owner text NOT NULL DEFAULT '', token bigint NOT NULL DEFAULT 0,
		expires timestamptz NOT NULL DEFAULT '-infinity')`)
	return err
}

// initialize makes the data of a first primary.
func (s *postgresServer) initialize(ctx context.Context) error {
	if err := s.makeDir(); err != nil {
		return err
	}
	return tool(ctx, s.command("initdb", "-D", s.dir, "-U", superuser, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions", "--wal-segsize=1"))
}

func (s *postgresServer) makeDir() error {
	if err := os.RemoveAll(s.dir); err != nil {
		return fmt.Errorf("make its data anew: %w", err)
	}
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		return fmt.Errorf("make its data directory: %w", err)
	}
	if c := credential(); c != nil {
		return os.Chown(s.dir, int(c.Uid), int(c.Gid))
	}
	return nil
}

// command is one of PostgreSQL's programs. They do not run as root.
func (s *postgresServer) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(postgresTool(name), args...)
	cmd.Dir = "/" // who it runs as may not be let into this one before it has its rights
	if c := credential(); c != nil {
		// It finds its directory below those of root.
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c, AmbientCaps: []uintptr{unix.CAP_DAC_OVERRIDE}}
	}
	return cmd
}

// credential is who PostgreSQL runs as where this process is root's; else nil.
var credential = sync.OnceValue(func() *syscall.Credential {
	if os.Getuid() != 0 {
		return nil
	}
	const nobody = 65534
	c := &syscall.Credential{Uid: nobody, Gid: nobody}
	if u, err := user.Lookup("postgres"); err == nil {
		uid, errU := strconv.ParseUint(u.Uid, 10, 32)
		gid, errG := strconv.ParseUint(u.Gid, 10, 32)
		if errU == nil && errG == nil {
			c = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		}
	}
	return c
})

// run starts the process and waits until it answers. Nothing is synced to the
// disk: what crashes is a process, and the machine goes on.
func (s *postgresServer) run(ctx context.Context) error {
	if err := s.awaitMemory(ctx); err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(s.Client)
	if err != nil {
		return err
	}
	args := []string{"-D", s.dir}
	for _, c := range []string{
		"listen_addresses=" + host, "port=" + port, "unix_socket_directories=", "fsync=off", "full_page_writes=off",
		"shared_buffers=4MB", "max_connections=60", "max_worker_processes=1", "autovacuum=off", "jit=off", "dynamic_shared_memory_type=mmap",
		"wal_level=replica", "max_wal_senders=4", "wal_keep_size=64MB", "wal_retrieve_retry_interval=200ms", "log_line_prefix=%m [%p] ",
	} {
		args = append(args, "-c", c)
	}
	if s.leads != s.Name {
		h, p, err := net.SplitHostPort(s.Members[s.leads])
		if err != nil {
			return err
		}
		args = append(args, "-c", fmt.Sprintf("primary_conninfo=host=%s port=%s user=%s sslmode=disable application_name=%s", h, p, superuser, s.Name))
	}
	if s.proc, err = process.Launch(s.command("postgres", args...), s.fails); err != nil {
		return err
	}
	return s.proc.Until(ctx, "start", func(ctx context.Context) error {
		if err := s.forgetMemory(); err != nil { // at once: it may be killed while it starts
			return err
		}
		return s.db.PingContext(ctx)
	})
}

// A server that is killed leaves a segment of shared memory behind. It shows the next one
// that no process of the last is left. It is marked to go with the last process that has
// it.

// memory is the segment of the process that runs, or of the last one; false
// when there was none.
func (s *postgresServer) memory() (id int, ok bool) {
	b, err := os.ReadFile(filepath.Join(s.dir, "postmaster.pid"))
	lines := bytes.Split(b, []byte("\n"))
	if err != nil || len(lines) < 7 {
		return 0, false
	}
	f := bytes.Fields(lines[6])
	if len(f) != 2 {
		return 0, false
	}
	id, err = strconv.Atoi(string(f[1]))
	return id, err == nil
}

func (s *postgresServer) forgetMemory() error {
	id, ok := s.memory()
	if !ok {
		return errors.New("it does not say which shared memory it has")
	}
	if _, err := unix.SysvShmCtl(id, unix.IPC_RMID, nil); err != nil {
		return fmt.Errorf("mark its shared memory: %w", err)
	}
	return nil
}

// awaitMemory waits until the processes of a server that was killed have ended.
func (s *postgresServer) awaitMemory(ctx context.Context) error {
	for {
		id, ok := s.memory()
		if _, err := unix.SysvShmCtl(id, unix.IPC_STAT, new(unix.SysvShmDesc)); !ok || err != nil {
			return nil
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("wait for the processes of the last server: %w", ctx.Err())
		}
	}
}

// Promote implements [bundled.Promoted].
func (s *postgresServer) Promote(ctx context.Context) error {
	var promoted bool
	if err := s.db.QueryRowContext(ctx, "SELECT pg_promote(true, 20)").Scan(&promoted); err != nil || !promoted {
		return errors.Join(errors.New("it does not end its recovery"), err)
	}
	s.leads = s.Name
	return nil
}

// Follow implements [bundled.Promoted].
func (s *postgresServer) Follow(ctx context.Context, leader string) error {
	if s.leads == leader {
		return nil
	}
	s.proc.End(syscall.SIGQUIT)
	if err := s.makeDir(); err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(s.Members[leader])
	if err != nil {
		return err
	}
	if err := tool(ctx, s.command("pg_basebackup", "-D", s.dir, "-h", host, "-p", port, "-U", superuser, "-c", "fast", "-X", "stream", "--no-sync", "--no-manifest")); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(s.dir, standby))
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return err
	}
	s.leads = leader
	return s.run(ctx)
}

// HandOver implements [bundled.Server]: a server that is shut down in order sends its
// replicas all that it has.
func (s *postgresServer) HandOver(context.Context, string) error {
	s.leads = ""
	s.proc.End(syscall.SIGINT)
	return nil
}

// Keys implements [bundled.Server].
func (s *postgresServer) Keys(ctx context.Context) ([]string, error) {
	return texts(ctx, s.db, `SELECT 'row '||name||' of '||owner FROM locks WHERE expires > clock_timestamp()
		UNION ALL SELECT 'advisory lock of '||pid FROM pg_locks WHERE locktype = 'advisory'
		UNION ALL SELECT 'transaction of '||pid FROM pg_stat_activity WHERE xact_start IS NOT NULL AND backend_type = 'client backend' AND pid <> pg_backend_pid()`)
}

// Delete implements [bundled.Server].
func (s *postgresServer) Delete(ctx context.Context, name string) error {
	r, err := s.db.ExecContext(ctx, "UPDATE locks SET owner = '', expires = '-infinity' WHERE name = $1 AND expires > clock_timestamp()", name)
	if err != nil {
		return err
	}
	if n, err := r.RowsAffected(); n > 0 || err != nil {
		return err
	}
	ended, err := texts(ctx, s.db, `SELECT pg_terminate_backend(pid)::text FROM (
		SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND (classid::bigint << 32 | objid::bigint) = hashtextextended($1, 0)
		UNION SELECT pid FROM pg_stat_activity WHERE state = 'idle in transaction' AND backend_xid IS NOT NULL) holders`, name)
	if err == nil && len(ended) == 0 {
		err = fmt.Errorf("no owner holds %q", name)
	}
	return err
}

var _ = stdlib.GetDefaultDriver // which calls itself pgx
