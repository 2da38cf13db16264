package scenarios

// Named is the lock of that name, which there must be.
func Named(name string) *Subject {
	s, err := FindSubject(name)
	if err != nil {
		panic(err)
	}
	return s
}

// Groups is how many independent primaries a lock needs.
func (s *Subject) Groups() int { return s.groups }
