package main

import (
	"context"
	"database/sql"
	"time"

	"github.com/holdfast-go/holdfast/internal/adapter"
	"github.com/holdfast-go/holdfast/internal/adapter/bundled"
)

// database has the differences between PostgreSQL and MariaDB.
type database struct {
	name   string
	server func(bundled.Settings) (bundled.Server, error)
	// missing says what this machine lacks to start servers; "" for nothing.
	missing func() string
	// version is that of the servers that this machine would start.
	version func() string
	// connect opens a pool of connections to whichever member leads.
	connect func(adapter.Access) (*sql.DB, error)
	// unit is the unit to which the timeouts of sessions are rounded up.
	unit time.Duration
	// ended says that an error tells of the end of the session, before the
	// request was carried out; timedOut that a lock was not had in time.
	ended, timedOut func(error) bool
	// unsure says that the driver may call a connection bad that has carried a
	// request whose reply was lost.
	unsure bool

	// ensure makes the row of a lock, if it is not there.
	ensure string
	rows   rowQueries
	kinds  map[string]kind
}

var databases = []*database{postgres, mariadb}

// rowQueries are those of a lock that is a row with a lease.
type rowQueries struct {
	// take takes the row if its lease is over, and returns the token.
	take func(ctx context.Context, db *sql.DB, name, owner string, lease time.Duration) (token int64, taken bool, err error)
	give string // of name and owner
	held string // of name and owner: a count
}

// kind is a lock that lasts as long as the session, or the transaction, that
// took it.
type kind struct {
	summary string
	// begin comes before all else, with the row in place when row says so.
	begin string
	row   bool
	// limit bounds how long take may wait.
	limit func(time.Duration) string
	// try takes the lock at once, and take waits for it. Each returns a row with
	// a value that is true when it was taken.
	try, take string
	// give lets go. Where it returns a row, it says whether there was a hold.
	give   string
	answer bool
	// held returns a row with a value that is true while the lock is held.
	held string
	// bound lets the server end a session that is silent for so long, and
	// unbound takes that back.
	bound   func(time.Duration) string
	unbound string
	setting string // that bound is about
}
