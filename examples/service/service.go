// Package service sells the stock of a shop over HTTP. Many processes may serve it. The
// lock keeps two of them from selling the same item. The database refuses a process that
// has lost the lock and has not noticed yet.
package service

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// Service sells one item for each request. Its locks must have fencing tokens.
type Service struct {
	Locks *lock.Client
	DB    *sql.DB
	// Pack takes the item out of the shelf; it may take long.
	Pack func(ctx context.Context, item string) error
}

var (
	errSoldOut = errors.New("sold out")
	// errStale: a process with a newer token has written. This one has lost the lock.
	errStale = errors.New("another process has the lock")
)

// Schema makes the table. token is the greatest fencing token that has written.
const Schema = `CREATE TABLE stock (item TEXT PRIMARY KEY, left INTEGER NOT NULL, token INTEGER NOT NULL DEFAULT 0)`

// ServeHTTP sells one item, named by the path.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	item := r.PathValue("item")
	err := s.Locks.Do(r.Context(), "stock:"+item, func(ctx context.Context, h *lock.Hold) error {
		return s.sell(ctx, item, h.Token())
	}, lock.Wait(5*time.Second))
	switch {
	case err == nil:
		fmt.Fprintln(w, "sold")
	case errors.Is(err, errSoldOut):
		http.Error(w, "sold out", http.StatusGone)
	case errors.Is(err, lock.ErrBusy), errors.Is(err, lock.ErrRefused):
		http.Error(w, "try again later", http.StatusServiceUnavailable) // nothing was done
	case errors.Is(err, errStale), errors.Is(err, lock.ErrLost):
		http.Error(w, "look at your orders before you try again", http.StatusConflict)
	default: // lock.ErrUnknown among others
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

func (s *Service) sell(ctx context.Context, item string, token uint64) error {
	var left int
	if err := s.DB.QueryRowContext(ctx, `SELECT left FROM stock WHERE item = ?`, item).Scan(&left); err != nil {
		return fmt.Errorf("read stock: %w", err)
	}
	if left == 0 {
		return errSoldOut
	}
	if err := s.Pack(ctx, item); err != nil {
		return fmt.Errorf("pack %q: %w", item, err)
	}
	// The condition makes the difference. A process that was stopped for longer than its
	// lease comes here late, and with a token that is too small.
	res, err := s.DB.ExecContext(ctx, `UPDATE stock SET left = ?, token = ? WHERE item = ? AND token <= ?`, left-1, int64(token), item, int64(token))
	if err != nil {
		return fmt.Errorf("write stock: %w", err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return errors.Join(errStale, err)
	}
	return nil
}
