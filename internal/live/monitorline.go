package live

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// monitorLine is a line of MONITOR: a command that a server has executed, or
// a script or transaction that it begins or ends.
type monitorLine struct {
	at   time.Time // what the server's clock showed
	db   string
	from string // the address of the connection; "lua" for a command of a script
	args []string
}

const fromScript = "lua"

// parseMonitor reads a line such as
//
//	1795268405.463023 [0 127.0.0.1:36924] "set" "k" "a \"b\" \x01"
func parseMonitor(line string) (monitorLine, error) {
	wrong := fmt.Errorf("parse a line of MONITOR: %q", line)
	stamp, rest, ok1 := strings.Cut(line, " [")
	origin, rest, ok2 := strings.Cut(rest, "] ")
	db, from, ok3 := strings.Cut(origin, " ")
	seconds, micros, ok4 := strings.Cut(stamp, ".")
	s, err1 := strconv.ParseInt(seconds, 10, 64)
	us, err2 := strconv.ParseInt(micros, 10, 64)
	args, ok5 := unquote(rest)
	if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 || err1 != nil || err2 != nil || len(micros) != 6 {
		return monitorLine{}, wrong
	}
	return monitorLine{at: time.Unix(s, us*1000), db: db, from: from, args: args}, nil
}

// escapes are Redis' own besides \xHH; any other character is itself.
var escapes = map[byte]byte{'n': '\n', 'r': '\r', 't': '\t', 'a': '\a', 'b': '\b'}

// unquote reads the arguments of a command as Redis writes them.
func unquote(s string) (args []string, ok bool) {
	for s != "" {
		if s[0] != '"' {
			return nil, false
		}
		var b strings.Builder
		i := 1
		for ; i < len(s) && s[i] != '"'; i++ {
			if s[i] != '\\' {
				b.WriteByte(s[i])
				continue
			}
			if i++; i >= len(s) {
				return nil, false
			}
			if s[i] != 'x' {
				c, special := escapes[s[i]]
				if !special {
					c = s[i]
				}
				b.WriteByte(c)
				continue
			}
			if i+2 >= len(s) {
				return nil, false
			}
			c, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
			if err != nil {
				return nil, false
			}
			b.WriteByte(byte(c))
			i += 2
		}
		if i >= len(s) {
			return nil, false
		}
		args = append(args, b.String())
		s = strings.TrimPrefix(s[i+1:], " ")
	}
	return args, len(args) > 0
}
