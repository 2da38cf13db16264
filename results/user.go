package results

// Column is what a matrix calls the lock of a run: its name, and the kind of user
// where it is not that of the scenario.
func (r *Run) Column() string { return column(r.Lock, r.User) }

// Column is that of the runs that are missing.
func (s *Skip) Column() string { return column(s.Lock, s.User) }

func column(lock, user string) string {
	if user == "" {
		return lock
	}
	return lock + " (" + user + ")"
}
