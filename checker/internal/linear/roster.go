package linear

import "fmt"

// Roster numbers owners, from 1 in the order in which they come.
type Roster struct {
	number map[string]int32
	names  []string
}

// Number returns the number of an owner, a new one for a new owner.
func (r *Roster) Number(owner string) int32 {
	n, ok := r.number[owner]
	if !ok {
		if r.number == nil {
			r.number = map[string]int32{}
		}
		r.names = append(r.names, owner)
		n = int32(len(r.names))
		r.number[owner] = n
	}
	return n
}

func (r *Roster) name(owner int32) string {
	if r == nil || owner < 1 || int(owner) > len(r.names) {
		return fmt.Sprintf("owner %d", owner)
	}
	return r.names[owner-1]
}
