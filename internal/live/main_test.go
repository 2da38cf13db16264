package live

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/adapter"
	"github.com/holdfast-go/holdfast/internal/live/internal/livetest"
)

func TestMain(m *testing.M) {
	livetest.Main(m, map[string]func(string) int{workerRole: playClient})
}

func client(t *testing.T, s interface {
	Access(client string) (adapter.Access, error)
}, name string, group int) redis.UniversalClient {
	t.Helper()
	return livetest.Client(t, s, name, group)
}

func admin(t *testing.T, s interface {
	Admin(name string) (*redis.Client, error)
}, name string) *redis.Client {
	t.Helper()
	return livetest.Admin(t, s, name)
}

var (
	check      = livetest.Check
	eventually = livetest.Eventually
)
