package servers

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"
)

type LogLine struct {
	Server string
	At     time.Time // the true time, to the millisecond
	Text   string    // without the time, the process and the level
}

// LogLines are the log lines of all servers, through all their starts, in order of
// time. A line without a time in milliseconds has that of the line before.
func (s *Servers) LogLines() ([]LogLine, error) {
	now := time.Now()
	var all []LogLine
	var errs []error
	for _, srv := range s.order {
		text, err := s.Log(srv.Name)
		errs = append(errs, err)
		all = append(all, srv.logLines(text, now)...)
	}
	slices.SortStableFunc(all, func(a, b LogLine) int { return a.At.Compare(b.At) })
	return all, errors.Join(errs...)
}

// logLines reads a server's log, backwards from the true time now. If a clock that
// was set back showed a time twice, logLines takes the candidate nearer to the
// next line.
func (srv *Server) logLines(text string, now time.Time) []LogLine {
	var lines []LogLine
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			continue
		}
		shown, said := parseLogLine(line)
		lines = append(lines, LogLine{Server: srv.Name, At: shown, Text: said})
	}
	next := now
	for i, l := range slices.Backward(lines) {
		if !l.At.IsZero() {
			lines[i].At = srv.TrueTime(l.At, next)
			next = lines[i].At
		}
	}
	last := time.Time{}
	for i, l := range lines {
		last = cmp.Or(l.At, last)
		lines[i].At = last
	}
	return lines
}

// logTime is the servers' format of time, in the time zone of the machine.
const logTime = "02 Jan 2006 15:04:05.000"

// parseLogLine takes a line such as
//
//	904:S 21 Nov 2026 13:44:59.327 # User requested shutdown...
//
// apart. A line of another form has no time.
func parseLogLine(line string) (shown time.Time, text string) {
	_, rest, ok := strings.Cut(line, " ")
	if !ok || len(rest) < len(logTime)+3 {
		return time.Time{}, line
	}
	at, err := time.ParseInLocation(logTime, rest[:len(logTime)], time.Local)
	if err != nil {
		return time.Time{}, line
	}
	return at, rest[len(logTime)+3:] // after " # "
}
