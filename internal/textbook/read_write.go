package textbook

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
	"github.com/holdfast-go/holdfast/lock"
)

var (
	//go:embed read_write_enter.lua
	readWriteEnterSource string
	//go:embed read_write_leave.lua
	readWriteLeaveSource string

	readWriteEnter, readWriteLeave = redis.NewScript(readWriteEnterSource), redis.NewScript(readWriteLeaveSource)
)

type readWrite struct{ room }

// NewWrite is the view of a writer, which has the lock alone. One hash has the mode of
// the lock and its holds, as with Redisson's RReadWriteLock. The value of a hold is the
// end of its lease by the clock of the server; Redisson has a count there, and the
// leases in keys of their own. A writer can read as well and, unlike Redisson's, a reader
// write.
//
// Its mistakes are those of set-px-lua. And a stream of readers keeps writers away.
func NewWrite(rdb redis.UniversalClient, name, owner string, o Options) lock.Locker {
	return newReadWrite(rdb, name, owner, "write", "read", o)
}

// NewRead is the view of a reader of the same lock. Readers share it.
func NewRead(rdb redis.UniversalClient, name, owner string, o Options) lock.Locker {
	return newReadWrite(rdb, name, owner, "read", "write", o)
}

func newReadWrite(rdb redis.UniversalClient, name, owner, mode, other string, o Options) lock.Locker {
	l := &readWrite{room{Spin: NewSpin(rdb, name, owner, o), mode: mode}}
	l.Take = func(ctx context.Context, lease time.Duration) (bool, error) {
		return l.enter(ctx, readWriteEnter, wholeMillis(lease), mode, fmt.Sprintf("%s#%s", owner, other))
	}
	return l
}

// Unlock returns ErrNotHeld when the lease of the hold is over.
func (l *readWrite) Unlock(ctx context.Context) (int, error) { return 0, l.leave(ctx, readWriteLeave) }

// HoldsOfReadWrite reads the holds of a [NewRead] and [NewWrite] on a server.
func HoldsOfReadWrite(v keyspace.View) (holds []keyspace.Hold) {
	fields := v.Hash(v.Name)
	for _, hold := range slices.Sorted(maps.Keys(fields)) {
		if end, err := strconv.ParseInt(fields[hold], 10, 64); err == nil {
			holds = append(holds, keyspace.Hold{Owner: ownerOf(hold), Shared: strings.Contains(hold, "#read"), End: time.UnixMilli(end)})
		}
	}
	return holds
}
