package scenarios

import "github.com/holdfast-go/holdfast/faults"

// striker is the world as faults see it, with crashes noted in the history.
type striker struct {
	faults.World
	rec *recorder
}

// Crash implements [faults.World].
func (s striker) Crash(client string) error {
	done := s.rec.crashing(client)
	err := s.World.Crash(client)
	done(err)
	return err
}
