package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/holdfast-go/holdfast/adapters/process"
	"github.com/holdfast-go/holdfast/internal/adapter/bundled"
)

// schema is where the table of the locks is. appUser asks for locks; admin is
// this process, and the replicas.
const schema, appUser, admin = "holdfast", "app", "admin"

func mariadbTool(name string) string { return firstOf(name, "/usr/sbin", "/usr/libexec") }

func missingMariaDB() string {
	if mariadbTool("mariadbd") == "" || mariadbTool("mariadb-install-db") == "" {
		return "MariaDB's server is not installed (Debian's package mariadb-server)"
	}
	return ""
}

var mariadbVersion = sync.OnceValue(func() string { return versionOf(mariadbTool("mariadbd")) })

// mariadbServer is a member of MariaDB.
type mariadbServer struct{ member }

func newMariaDBServer(s bundled.Settings) (bundled.Server, error) {
	c := mysql.NewConfig()
	c.User, c.Net, c.Addr, c.Logger, c.InterpolateParams = admin, "tcp", s.Client, &mysql.NopLogger{}, true
	db, _ := sql.Open("mysql", c.FormatDSN()) // opens nothing yet
	return &mariadbServer{newMember(s, "mariadb", db)}, nil
}

// Stop implements [bundled.Server].
func (s *mariadbServer) Stop() { s.end(syscall.SIGKILL) }

// leadFile is the file with the name of whom a member follows.
func (s *mariadbServer) leadFile() string { return filepath.Join(s.Data, "follows") }

// Start implements [bundled.Server]. The data of a former leader may differ from that of
// the leader: it is made anew.
func (s *mariadbServer) Start(ctx context.Context) error {
	if last, err := os.ReadFile(s.leadFile()); err == nil && string(last) == s.Leader {
		s.leads = s.Leader
		return s.run(ctx)
	}
	if s.Leader != s.Name {
		return s.Follow(ctx, s.Leader)
	}
	if err := s.initialize(ctx, s.Name); err != nil {
		return err
	}
	for _, q := range []string{
		"CREATE DATABASE " + schema,
		"CREATE TABLE " + schema + `.locks (name varchar(600) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PRIMARY KEY, owner varchar(200) NOT NULL DEFAULT '',
			token bigint NOT NULL DEFAULT 0, expires datetime(6) NOT NULL DEFAULT '1970-01-02') ENGINE=InnoDB`,
	} {
		if _, err := s.db.ExecContext(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

// initialize makes an empty server and starts it. Its users are no part of what
// is replicated.
func (s *mariadbServer) initialize(ctx context.Context, leads string) error {
	if err := os.RemoveAll(s.dir); err != nil {
		return fmt.Errorf("make its data anew: %w", err)
	}
	tmp := filepath.Join(filepath.Dir(s.dir), "tmp")
	if err := os.RemoveAll(tmp); err != nil {
		return fmt.Errorf("empty its directory for temporary files: %w", err)
	}
	if err := os.Mkdir(tmp, 0o700); err != nil {
		return fmt.Errorf("make its directory for temporary files: %w", err)
	}
	args := append(s.common(), "--datadir="+s.dir, "--auth-root-authentication-method=normal", "--skip-test-db")
	cmd := exec.Command(mariadbTool("mariadb-install-db"), args...)
	cmd.Dir = s.Data
	if err := tool(ctx, cmd); err != nil {
		return err
	}
	if err := os.WriteFile(s.madeFile(), []byte(strconv.Itoa(s.made()+1)), 0o600); err != nil {
		return err
	}
	users := filepath.Join(s.dir, "users.sql")
	if err := os.WriteFile(users, []byte("SET sql_log_bin=0;\nCREATE USER "+admin+"@'127.0.0.1';\nGRANT ALL ON *.* TO "+admin+"@'127.0.0.1';\n"+
		"CREATE USER "+appUser+"@'127.0.0.1';\nGRANT SELECT, INSERT, UPDATE, DELETE ON "+schema+".* TO "+appUser+"@'127.0.0.1';\n"), 0o600); err != nil {
		return err
	}
	s.leads = leads
	if err := s.run(ctx, "--init-file="+users); err != nil {
		return err
	}
	return os.WriteFile(s.leadFile(), []byte(leads), 0o600)
}

// common are the settings that the server and the program that makes its data share.
func (s *mariadbServer) common() []string {
	all := []string{"--no-defaults"}
	if os.Getuid() == 0 {
		all = append(all, "--user=root")
	}
	// Servers that share a directory for temporary files remove each other's.
	return append(all, "--tmpdir="+filepath.Join(filepath.Dir(s.dir), "tmp"), "--innodb-log-file-size=4M", "--innodb-buffer-pool-size=8M", "--innodb-use-native-aio=0", "--innodb-flush-method=nosync")
}

// run starts the process and waits until it answers. Nothing is synced to the
// disk: what crashes is a process, and the machine goes on.
func (s *mariadbServer) run(ctx context.Context, more ...string) error {
	host, port, err := net.SplitHostPort(s.Client)
	if err != nil {
		return err
	}
	id, err := s.id(port)
	if err != nil {
		return err
	}
	args := append(s.common(),
		"--datadir="+s.dir, "--socket=socket", "--pid-file=pid", "--bind-address="+host, "--port="+port, "--server-id="+id,
		"--log-bin=binlog", "--relay-log=relay", "--log-slave-updates", "--sync-binlog=0", "--innodb-flush-log-at-trx-commit=2",
		"--skip-name-resolve", "--performance-schema=0", "--max-connections=60", "--table-open-cache=64", "--key-buffer-size=1M", "--aria-pagecache-buffer-size=1M",
		"--plugin-load-add=metadata_lock_info")
	if s.leads != s.Name {
		args = append(args, "--read-only=1")
	}
	cmd := exec.Command(mariadbTool("mariadbd"), append(args, more...)...)
	cmd.Dir = s.Data
	if s.proc, err = process.Launch(cmd, s.fails); err != nil {
		return err
	}
	return s.proc.Until(ctx, "start", s.db.PingContext)
}

// A server that is made anew needs another number: it would take what it had
// written before for its own, and leave it out.

// id is the number of the server that runs at a port, or ran there last.
func (s *mariadbServer) id(port string) (string, error) {
	n, err := strconv.Atoi(port)
	return strconv.Itoa(n + s.made()<<16), err
}

// made is the number of times that the server was made.
func (s *mariadbServer) made() int {
	text, err := os.ReadFile(s.madeFile())
	if err != nil {
		return 0
	}
	n, _ := strconv.Atoi(string(text))
	return n
}

func (s *mariadbServer) madeFile() string { return filepath.Join(s.Data, "made") }

// Promote implements [bundled.Promoted]: it carries out what has arrived, and no more.
func (s *mariadbServer) Promote(ctx context.Context) error {
	if _, err := s.db.ExecContext(ctx, "STOP SLAVE IO_THREAD"); err != nil {
		return err
	}
	err := s.proc.Until(ctx, "carry out what has arrived", func(ctx context.Context) error {
		status, err := s.status(ctx)
		if err == nil && (status["Master_Log_File"] != status["Relay_Master_Log_File"] || status["Read_Master_Log_Pos"] != status["Exec_Master_Log_Pos"]) {
			err = errors.New("some of it is to be carried out")
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, q := range []string{"STOP SLAVE", "RESET SLAVE ALL", "SET GLOBAL read_only = 0"} {
		if _, err := s.db.ExecContext(ctx, q); err != nil {
			return err
		}
	}
	s.leads = s.Name
	return os.WriteFile(s.leadFile(), []byte(s.Name), 0o600)
}

// status is SHOW SLAVE STATUS.
func (s *mariadbServer) status(ctx context.Context) (map[string]string, error) {
	rows, err := s.db.QueryContext(ctx, "SHOW SLAVE STATUS")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	if !rows.Next() {
		return nil, errors.Join(errors.New("it follows no member"), rows.Err())
	}
	values, into := make([]sql.NullString, len(names)), make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	if err := rows.Scan(into...); err != nil {
		return nil, err
	}
	status := map[string]string{}
	for i, n := range names {
		status[n] = values[i].String
	}
	return status, nil
}

// Follow implements [bundled.Promoted]: the log of the one that leads has all from the
// beginning.
func (s *mariadbServer) Follow(ctx context.Context, leader string) error {
	if s.leads == leader {
		return nil
	}
	s.proc.End(syscall.SIGKILL)
	if err := s.initialize(ctx, leader); err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(s.Members[leader])
	if err != nil {
		return err
	}
	for _, q := range []string{
		fmt.Sprintf("CHANGE MASTER TO MASTER_HOST='%s', MASTER_PORT=%s, MASTER_USER='%s', MASTER_CONNECT_RETRY=1, MASTER_USE_GTID=slave_pos", host, port, admin),
		"START SLAVE",
	} {
		if _, err := s.db.ExecContext(ctx, q); err != nil {
			return err
		}
	}
	return s.proc.Until(ctx, "follow "+leader, func(ctx context.Context) error {
		status, err := s.status(ctx)
		if err == nil && status["Slave_IO_Running"] != "Yes" {
			err = fmt.Errorf("it is not connected: %s", status["Last_IO_Error"])
		}
		return err
	})
}

// HandOver implements [bundled.Server].
func (s *mariadbServer) HandOver(ctx context.Context, heir string) error {
	if _, err := s.db.ExecContext(ctx, "SET GLOBAL read_only = 1"); err != nil {
		return err
	}
	var all string
	if err := s.db.QueryRowContext(ctx, "SELECT @@gtid_binlog_pos").Scan(&all); err != nil {
		return err
	}
	c := mysql.NewConfig()
	c.User, c.Net, c.Addr, c.InterpolateParams, c.Timeout = admin, "tcp", s.Members[heir], true, 5*time.Second
	db, err := sql.Open("mysql", c.FormatDSN())
	if err != nil {
		return err
	}
	defer db.Close()
	missing := 0
	if err := db.QueryRowContext(ctx, "SELECT MASTER_GTID_WAIT(?, 20)", all).Scan(&missing); err != nil || missing != 0 {
		return errors.Join(fmt.Errorf("%s does not have everything", heir), err)
	}
	s.leads = ""
	s.proc.End(syscall.SIGTERM)
	return nil
}

// trxCache is for how long InnoDB shows the same transactions again to those who
// ask sooner, in trx0i_s.cc of its source.
const trxCache = 100 * time.Millisecond

// Keys implements [bundled.Server].
func (s *mariadbServer) Keys(ctx context.Context) ([]string, error) {
	select {
	case <-time.After(trxCache + 10*time.Millisecond):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return texts(ctx, s.db, `SELECT CONCAT('row ', name, ' of ', owner) FROM `+schema+`.locks WHERE expires > UTC_TIMESTAMP(6)
		UNION ALL SELECT CONCAT('user lock of ', thread_id) FROM information_schema.metadata_lock_info WHERE lock_type = 'User lock'
		UNION ALL SELECT CONCAT('transaction of ', trx_mysql_thread_id) FROM information_schema.innodb_trx WHERE trx_rows_locked > 0`)
}

// Delete implements [bundled.Server].
func (s *mariadbServer) Delete(ctx context.Context, name string) error {
	// Transactions first, as they may have the row.
	holders, err := texts(ctx, s.db, `SELECT IS_USED_LOCK(?) FROM DUAL WHERE IS_USED_LOCK(?) IS NOT NULL
		UNION ALL SELECT trx_mysql_thread_id FROM information_schema.innodb_trx WHERE trx_rows_locked > 0 AND trx_state = 'RUNNING' AND trx_query IS NULL`, name, name)
	if err != nil {
		return err
	}
	for _, h := range holders {
		if _, err := s.db.ExecContext(ctx, "KILL "+h); err != nil {
			return err
		}
	}
	if len(holders) > 0 {
		return nil
	}
	r, err := s.db.ExecContext(ctx, "UPDATE "+schema+".locks SET owner = '', expires = '1970-01-02' WHERE name = ? AND expires > UTC_TIMESTAMP(6)", name)
	if err != nil {
		return err
	}
	if n, err := r.RowsAffected(); n == 0 || err != nil {
		return errors.Join(fmt.Errorf("no owner holds %q", name), err)
	}
	return nil
}
