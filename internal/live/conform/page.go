package conform

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// Page prints a report for people, each result as soon as it is known.
type Page struct {
	w    io.Writer
	lock string // of the last line
	any  bool
	err  error // of writing
}

func NewPage(w io.Writer) *Page { return &Page{w: w} }

func (p *Page) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

// Result prints one result; lock is nil for those of the adapter itself.
func (p *Page) Result(lock *locks.Description, r Result) {
	switch {
	case lock == nil && !p.any:
		p.printf("the worker\n")
	case lock != nil && lock.Name != p.lock:
		p.lock = lock.Name
		p.printf("\n%s\n", strings.TrimSpace(lock.Name+" "+lock.Version))
	}
	p.any = true
	word, reason := "-", r.Reason
	switch r.Status {
	case OK:
		word = "ok"
	case Failed:
		word, reason = "FAILED", ""
	}
	p.printf("%s\n", strings.TrimRight(fmt.Sprintf("  %-7s %-16s %s", word, r.Check, reason), " "))
	if r.Status == Failed {
		for _, line := range slices.Concat(strings.Split(strings.TrimRight(r.Reason, "\n"), "\n"), []string{"the contract: " + r.Contract}) {
			p.printf("          %s\n", line)
		}
	}
}

// End prints the counts, and returns the first error of writing.
func (p *Page) End(r Report) error {
	s := r.summary()
	p.printf("\n%d ok, %d failed, %d not claimed, %d not tried\n", s.OK, s.Failed, s.NotClaimed, s.NotTried)
	if s.Failed > 0 {
		p.printf("the contract is docs/adapter-protocol.md\n")
	}
	return p.err
}
