package main

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress is a bar on a terminal, and nothing elsewhere.
type progress struct{ bar *progressbar.ProgressBar }

func newProgress(w io.Writer, total int) progress {
	return startProgress(w, int64(total), "playing", progressbar.OptionShowCount())
}

// newReading counts the bytes of an input; size is -1 when nobody knows it.
func newReading(w io.Writer, size int64) progress {
	return startProgress(w, size, "reading", progressbar.OptionShowBytes(true))
}

// newJudging counts properties.
func newJudging(w io.Writer, total int) progress {
	return startProgress(w, int64(total), "judging", progressbar.OptionShowCount())
}

func startProgress(w io.Writer, total int64, what string, also ...progressbar.Option) progress {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return progress{}
	}
	return progress{progressbar.NewOptions64(total, append(also,
		progressbar.OptionSetWriter(w), progressbar.OptionSetDescription(what), progressbar.OptionThrottle(65*time.Millisecond),
		progressbar.OptionClearOnFinish(), progressbar.OptionSetWidth(30))...)}
}

// now says what is under way.
func (p progress) now(what string) {
	if p.bar != nil {
		p.bar.Describe(what)
	}
}

func (p progress) step() {
	if p.bar != nil {
		p.bar.Add(1)
	}
}

// of counts what is read from r.
func (p progress) of(r io.Reader) io.Reader {
	if p.bar == nil {
		return r
	}
	counted := progressbar.NewReader(r, p.bar)
	return &counted
}

func (p progress) done() {
	if p.bar != nil {
		p.bar.Finish()
	}
}

// terminalWidth is how wide a terminal is, 0 for anything else.
func terminalWidth(w io.Writer) int {
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
