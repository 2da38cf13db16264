package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/holdfast-go/holdfast/internal/adapter"
)

// mariadb has GET_LOCK. It counts its timeouts in whole seconds.
var mariadb = &database{
	name: "mariadb", server: newMariaDBServer, missing: missingMariaDB, version: mariadbVersion,
	connect: connectMariaDB, unit: time.Second,
	// 1927 is that the connection was killed, 4031 that it was silent for too long.
	ended: hasNumber(1927, 4031), timedOut: hasNumber(1205, 3572),
	ensure: "INSERT IGNORE INTO locks (name) VALUES (?)",
	rows: rowQueries{
		take: takeMariaDBRow,
		give: "UPDATE locks SET owner = '', expires = '1970-01-02' WHERE name = ? AND owner = ? AND expires > UTC_TIMESTAMP(6)",
		held: "SELECT count(*) FROM locks WHERE name = ? AND owner = ? AND expires > UTC_TIMESTAMP(6)",
	},
	kinds: map[string]kind{
		"get-lock": {
			summary: "GET_LOCK on a connection of the owner's own",
			limit:   func(d time.Duration) string { return fmt.Sprintf("SET @wait = %g", orForever(d).Seconds()) },
			try:     "SELECT GET_LOCK(?, 0)", take: "SELECT GET_LOCK(?, @wait)", give: "SELECT RELEASE_LOCK(?)", answer: true,
			held:    "SELECT IS_USED_LOCK(?) = CONNECTION_ID()",
			bound:   func(d time.Duration) string { return fmt.Sprintf("SET wait_timeout = %d", seconds(d)) },
			unbound: "SET wait_timeout = DEFAULT", setting: "wait_timeout",
		},
		"for-update": {
			summary: "SELECT ... FOR UPDATE, in a transaction that is open while the lock is held",
			begin:   "BEGIN", row: true,
			limit: func(d time.Duration) string {
				return fmt.Sprintf("SET innodb_lock_wait_timeout = %d", seconds(orForever(d)))
			},
			try: "SELECT true FROM locks WHERE name = ? FOR UPDATE NOWAIT", take: "SELECT true FROM locks WHERE name = ? FOR UPDATE",
			give: "COMMIT", held: "SELECT true",
			bound:   func(d time.Duration) string { return fmt.Sprintf("SET idle_transaction_timeout = %d", seconds(d)) },
			unbound: "SET idle_transaction_timeout = 0", setting: "idle_transaction_timeout",
		},
	},
}

func seconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }

// orForever is a wait, or one of a day where it has no end.
func orForever(d time.Duration) time.Duration {
	if d <= 0 {
		return 24 * time.Hour
	}
	return d
}

// hasNumber says whether an error has one of some numbers of MariaDB.
func hasNumber(numbers ...uint16) func(error) bool {
	return func(err error) bool {
		var my *mysql.MySQLError
		return errors.As(err, &my) && slices.Contains(numbers, my.Number)
	}
}

func takeMariaDBRow(ctx context.Context, db *sql.DB, name, owner string, lease time.Duration) (token int64, taken bool, err error) {
	r, err := db.ExecContext(ctx, `UPDATE locks SET owner = ?, token = LAST_INSERT_ID(token + 1), expires = UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND
		WHERE name = ? AND expires <= UTC_TIMESTAMP(6)`, owner, lease.Microseconds(), name)
	if err != nil {
		return 0, false, err
	}
	if n, err := r.RowsAffected(); n == 0 || err != nil {
		return 0, false, err
	}
	token, err = r.LastInsertId()
	return token, err == nil, err
}

// connectMariaDB looks for the member that takes writes, which the driver does
// not do by itself.
func connectMariaDB(a adapter.Access) (*sql.DB, error) {
	w := &writable{within: a.Scaled(dialTimeout)}
	for _, addr := range a.Primaries {
		c := mysql.NewConfig()
		c.User, c.Net, c.Addr, c.DBName, c.Timeout = appUser, "tcp", addr, schema, a.Scaled(dialTimeout)
		c.InterpolateParams = true
		c.Logger = &mysql.NopLogger{}
		one, err := mysql.NewConnector(c)
		if err != nil {
			return nil, err
		}
		w.members = append(w.members, one)
	}
	return sql.OpenDB(w), nil
}

// writable connects to the first of several members that takes writes.
type writable struct {
	members []driver.Connector
	within  time.Duration // what one of them may take to answer
}

// errReadOnly is the error of a member that follows another.
var errReadOnly = errors.New("the server is read-only")

// Connect implements [driver.Connector].
func (w *writable) Connect(ctx context.Context) (driver.Conn, error) {
	var errs []error
	for _, m := range w.members {
		c, err := w.connect(ctx, m)
		if err == nil {
			return c, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

func (w *writable) connect(ctx context.Context, to driver.Connector) (driver.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, w.within)
	defer cancel()
	c, err := to.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := takesWrites(ctx, c); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func takesWrites(ctx context.Context, c driver.Conn) error {
	rows, err := c.(driver.QueryerContext).QueryContext(ctx, "SELECT @@global.read_only + 0", nil)
	if err != nil {
		return err
	}
	defer rows.Close()
	value := make([]driver.Value, 1)
	if err := rows.Next(value); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if n, _ := value[0].(int64); n != 0 {
		return errReadOnly
	}
	return nil
}

// Driver implements [driver.Connector].
func (w *writable) Driver() driver.Driver { return w.members[0].Driver() }
