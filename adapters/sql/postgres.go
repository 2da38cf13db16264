package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/holdfast-go/holdfast/internal/adapter"
)

// postgres has its advisory locks, which are numbers: the name is hashed.
var postgres = &database{
	name: "postgres", server: newPostgresServer, missing: missingPostgres, version: postgresVersion,
	connect: connectPostgres, unit: time.Millisecond,
	ended: hasCode("57P01", "57P02", "57P05", "25P03"), timedOut: hasCode("55P03"), unsure: true, // seen of a COMMIT
	ensure: "INSERT INTO locks (name) VALUES ($1) ON CONFLICT DO NOTHING",
	rows: rowQueries{
		take: takePostgresRow,
		give: "UPDATE locks SET owner = '', expires = '-infinity' WHERE name = $1 AND owner = $2 AND expires > clock_timestamp()",
		held: "SELECT count(*) FROM locks WHERE name = $1 AND owner = $2 AND expires > clock_timestamp()",
	},
	kinds: map[string]kind{
		"advisory": {
			summary: "pg_advisory_lock on a connection of the owner's own",
			limit:   postgresLimit, try: "SELECT pg_try_advisory_lock(" + hashed + ")",
			take: "SELECT true FROM pg_advisory_lock(" + hashed + ")", give: "SELECT pg_advisory_unlock(" + hashed + ")", answer: true,
			held: "SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND granted AND pid = pg_backend_pid()",
			bound: func(d time.Duration) string {
				return fmt.Sprintf("SET idle_session_timeout = '%dms'", d.Milliseconds())
			},
			unbound: "SET idle_session_timeout = 0", setting: "idle_session_timeout",
		},
		"advisory-xact": {
			summary: "pg_advisory_xact_lock, in a transaction that is open while the lock is held",
			begin:   "BEGIN", limit: postgresLimit, try: "SELECT pg_try_advisory_xact_lock(" + hashed + ")",
			take: "SELECT true FROM pg_advisory_xact_lock(" + hashed + ")", give: "COMMIT",
			held:  "SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND granted AND pid = pg_backend_pid()",
			bound: postgresBound, setting: "idle_in_transaction_session_timeout",
		},
		"for-update": {
			summary: "SELECT ... FOR UPDATE, in a transaction that is open while the lock is held",
			begin:   "BEGIN", row: true, limit: postgresLimit, try: "SELECT true FROM locks WHERE name = $1 FOR UPDATE NOWAIT",
			take: "SELECT true FROM locks WHERE name = $1 FOR UPDATE", give: "COMMIT", held: "SELECT true",
			bound: postgresBound, setting: "idle_in_transaction_session_timeout",
		},
	},
}

const hashed = "hashtextextended($1, 0)"

// postgresLimit bounds a wait for a lock; 0 is for ever.
func postgresLimit(d time.Duration) string {
	return fmt.Sprintf("SET lock_timeout = '%dms'", d.Milliseconds())
}

// postgresBound ends with the transaction.
func postgresBound(d time.Duration) string {
	return fmt.Sprintf("SET LOCAL idle_in_transaction_session_timeout = '%dms'", d.Milliseconds())
}

// hasCode says whether an error has one of some codes of PostgreSQL.
func hasCode(codes ...string) func(error) bool {
	return func(err error) bool {
		var pg *pgconn.PgError
		return errors.As(err, &pg) && slices.Contains(codes, pg.Code)
	}
}

func takePostgresRow(ctx context.Context, db *sql.DB, name, owner string, lease time.Duration) (token int64, taken bool, err error) {
	err = db.QueryRowContext(ctx, `UPDATE locks SET owner = $2, token = token + 1, expires = clock_timestamp() + $3 * interval '1 microsecond'
		WHERE name = $1 AND expires <= clock_timestamp() RETURNING token`, name, owner, lease.Microseconds()).Scan(&token)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	return token, err == nil, err
}

// connectPostgres lets the driver look for the member that takes writes, as it does for a
// client that lists several hosts.
func connectPostgres(a adapter.Access) (*sql.DB, error) {
	hosts := strings.Join(a.Primaries, ",")
	c, err := pgx.ParseConfig("postgres://" + superuser + "@" + hosts + "/postgres?sslmode=disable&target_session_attrs=read-write")
	if err != nil {
		return nil, err
	}
	c.ConnectTimeout = a.Scaled(dialTimeout)
	c.DialFunc = (&net.Dialer{Timeout: a.Scaled(dialTimeout)}).DialContext
	return stdlib.OpenDB(*c), nil
}
