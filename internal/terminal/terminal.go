// Package terminal shows a person the progress of a command.
package terminal

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// Progress is a progress bar on a terminal, and nothing elsewhere. The zero value
// shows nothing.
type Progress struct{ bar *progressbar.ProgressBar }

// Count counts up to total steps. what names the activity. A total of -1 is an
// unknown one.
func Count(w io.Writer, total int, what string) Progress {
	return start(w, int64(total), what, progressbar.OptionShowCount())
}

// Bytes counts the bytes of an input; a size of -1 is an unknown one.
func Bytes(w io.Writer, size int64, what string) Progress {
	return start(w, size, what, progressbar.OptionShowBytes(true))
}

func start(w io.Writer, total int64, what string, also ...progressbar.Option) Progress {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return Progress{}
	}
	return Progress{progressbar.NewOptions64(total, append(also,
		progressbar.OptionSetWriter(w), progressbar.OptionSetDescription(what), progressbar.OptionThrottle(65*time.Millisecond),
		progressbar.OptionClearOnFinish(), progressbar.OptionSetWidth(30))...)}
}

// Now names the current step.
func (p Progress) Now(what string) {
	if p.bar != nil {
		p.bar.Describe(what)
	}
}

// Step counts one more.
func (p Progress) Step() {
	if p.bar != nil {
		p.bar.Add(1)
	}
}

// Of counts the bytes that are read from r.
func (p Progress) Of(r io.Reader) io.Reader {
	if p.bar == nil {
		return r
	}
	counted := progressbar.NewReader(r, p.bar)
	return &counted
}

// Done removes the bar.
func (p Progress) Done() {
	if p.bar != nil {
		p.bar.Finish()
	}
}

// Width is the number of columns of a terminal, 0 for anything else.
func Width(w io.Writer) int {
	if p, ok := w.(*paper); ok {
		return p.width
	}
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}
