package play

import "github.com/holdfast-go/holdfast/faults"

// Striker is the world for faults. It records crashes in the history.
type Striker struct {
	faults.World
	Rec *Recorder
}

// Crash implements [faults.World].
func (s Striker) Crash(client string) error {
	done := s.Rec.crashing(client)
	err := s.World.Crash(client)
	done(err)
	return err
}
