package locktest

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
)

// logged has the logs of the lock and its libraries during one run. Broken connections
// are the point there, so it is shown only with a failure.
type logged struct {
	mu    sync.Mutex
	lines []string // the last ones
	more  int      // before those
}

// mostLines bounds what is kept of a log.
const mostLines = 20

// Write implements io.Writer.
func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.SplitSeq(strings.TrimRight(string(p), "\n"), "\n") {
		if l.lines = append(l.lines, line); len(l.lines) > mostLines {
			l.lines, l.more = l.lines[1:], l.more+1
		}
	}
	return len(p), nil
}

// Printf implements go-redis' logger.
func (l *logged) Printf(_ context.Context, format string, v ...any) {
	fmt.Fprintf(l, "redis: "+format, v...)
}

// String is the end of the log, indented, or nothing.
func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lines) == 0 {
		return ""
	}
	head := "logged meanwhile:"
	if l.more > 0 {
		head = fmt.Sprintf("logged meanwhile, after %d more lines:", l.more)
	}
	return head + "\n\t" + strings.Join(l.lines, "\n\t")
}

// capture takes what log, log/slog and go-redis write until restore is called.
// go-redis stays silent after that.
func capture() (l *logged, restore func()) {
	l = &logged{}
	std, structured, out, flags := log.Default(), slog.Default(), log.Writer(), log.Flags()
	slog.SetDefault(slog.New(slog.NewTextHandler(l, nil))) // turns the output of log as well
	std.SetOutput(l)
	std.SetFlags(0)
	redis.SetLogger(l)
	return l, func() {
		slog.SetDefault(structured)
		std.SetOutput(out)
		std.SetFlags(flags)
		logging.Disable()
	}
}

var _ io.Writer = (*logged)(nil)
