package liveplay

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/holdfast-go/holdfast/internal/live/processes"
	"github.com/holdfast-go/holdfast/internal/live/servers"
	"github.com/holdfast-go/holdfast/internal/suite/workers"
)

// AutoBackend is redis where it is installed, and miniredis elsewhere.
const AutoBackend = "auto"

// Backends lists what [FindBackend] takes, besides the path of a server's program.
func Backends() []string { return []string{AutoBackend, servers.Redis, servers.Miniredis} }

// IsProgram reports whether the name of a backend is the path of a server's program.
func IsProgram(name string) bool { return strings.ContainsRune(name, filepath.Separator) }

// FindBackend finds the servers of a backend, if this machine has them. The
// subcommand miniredis of this program is a server of that backend.
func FindBackend(name string) (servers.Backend, error) {
	if IsProgram(name) {
		own := servers.Backend{Program: name}
		return own, own.Available()
	}
	redis := servers.Backend{}
	err := redis.Available()
	if name == servers.Redis || name == AutoBackend && !errors.Is(err, processes.ErrUnavailable) {
		return redis, err
	}
	exe, err := workers.Self()
	if err != nil {
		return servers.Backend{}, err
	}
	mini := servers.Backend{Miniredis: []string{exe, "miniredis"}}
	return mini, mini.Available()
}
