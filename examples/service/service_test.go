package service

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	_ "modernc.org/sqlite"

	"github.com/holdfast-go/holdfast/lock"
)

// shop is a database and a Redis for many processes.
type shop struct {
	t     *testing.T
	redis *miniredis.Miniredis
	db    *sql.DB
}

func open(t *testing.T, stock int) *shop {
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "shop.db")+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if _, err := db.Exec(Schema); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`INSERT INTO stock (item, left) VALUES ('lamp', ?)`, stock); err != nil {
		t.Fatal(err)
	}
	return &shop{t: t, redis: miniredis.RunT(t), db: db}
}

// process is one process of the service.
func (s *shop) process(pack func(context.Context, string) error) http.Handler {
	rdb := redis.NewClient(&redis.Options{Addr: s.redis.Addr()})
	s.t.Cleanup(func() { rdb.Close() })
	locks, err := lock.New(rdb, lock.WithFencing())
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { locks.Close() })
	mux := http.NewServeMux()
	mux.Handle("POST /sell/{item}", &Service{Locks: locks, DB: s.db, Pack: pack})
	return mux
}

func sell(h http.Handler) int {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("POST", "/sell/lamp", nil))
	return w.Code
}

func (s *shop) left() int {
	n := 0
	if err := s.db.QueryRow(`SELECT left FROM stock WHERE item = 'lamp'`).Scan(&n); err != nil {
		s.t.Fatal(err)
	}
	return n
}

func TestNothingIsSoldTwice(t *testing.T) {
	const stock, customers = 20, 30
	s := open(t, stock)
	pack := func(context.Context, string) error { return nil }
	processes := []http.Handler{s.process(pack), s.process(pack), s.process(pack)}
	var sold, gone atomic.Int32
	var wg sync.WaitGroup
	for i := range customers {
		wg.Go(func() {
			switch code := sell(processes[i%len(processes)]); code {
			case http.StatusOK:
				sold.Add(1)
			case http.StatusGone:
				gone.Add(1)
			default:
				t.Errorf("a customer got %d", code)
			}
		})
	}
	wg.Wait()
	if sold.Load() != stock || gone.Load() != customers-stock || s.left() != 0 {
		t.Errorf("sold %d of %d, %d customers came too late, %d are left", sold.Load(), stock, gone.Load(), s.left())
	}
}

// A process stops between its read and its write for so long that it loses the
// lock, and another one sells. The late write would undo that sale.
func TestALateWriteIsRefused(t *testing.T) {
	s := open(t, 2)
	other := s.process(func(context.Context, string) error { return nil })
	stopped := s.process(func(context.Context, string) error {
		s.redis.Del("stock:lamp") // as if the lease had run out
		if code := sell(other); code != http.StatusOK {
			t.Errorf("the other process got %d", code)
		}
		return nil
	})
	if code := sell(stopped); code != http.StatusConflict {
		t.Errorf("the late process got %d, want %d", code, http.StatusConflict)
	}
	if s.left() != 1 {
		t.Errorf("%d lamps are left of 2, and one was sold", s.left())
	}
}

// Work that fails has sold nothing, and the next customer need not wait.
func TestAFailureLeavesTheLockFree(t *testing.T) {
	s := open(t, 1)
	if code := sell(s.process(func(context.Context, string) error { return errors.New("dropped") })); code != http.StatusInternalServerError {
		t.Errorf("a failure is %d", code)
	}
	if code := sell(s.process(func(context.Context, string) error { return nil })); code != http.StatusOK || s.left() != 0 {
		t.Errorf("the next customer got %d, and %d are left", code, s.left())
	}
}
