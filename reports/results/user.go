package results

// Column is the name of the lock in a matrix, with the kind of user unless it is
// the scenario's own.
func (r *Run) Column() string { return column(r.Lock, r.User) }

// Column is the column of the missing runs.
func (s *Skip) Column() string { return column(s.Lock, s.User) }

func column(lock, user string) string {
	if user == "" {
		return lock
	}
	return lock + " (" + user + ")"
}
