package live

import (
	"bufio"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestALineOfMonitorIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	got, err := parseMonitor(`1795268405.463023 [0 127.0.0.1:36924] "set" "a \"b\"\\" "\x00\xff\n\r\t\a\b" ""`)
	check(t, err)
	want := monitorLine{
		at: time.UnixMicro(1795268405463023), db: "0", from: "127.0.0.1:36924",
		args: []string{"set", `a "b"\`, "\x00\xff\n\r\t\a\b", ""},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("read as %+v, want %+v", got, want)
	}
	for _, wrong := range []string{
		"", "OK", `1795268405.463023 "get" "k"`, `1795268405.463023 [0 lua] get`, `1795268405.463023 [0 lua] `,
		`1795268405.463023 [0 lua] "get`, `1795268405.463023 [0 lua] "get\`, `1795268405.463023 [0 lua] "get\x0`,
		`x.463023 [0 lua] "get"`, `1795268405 [0 lua] "get"`, `1795268405.463023 [0] "get"`,
	} {
		if got, err := parseMonitor(wrong); err == nil {
			t.Errorf("%q is read as %+v", wrong, got)
		}
	}
}

func TestRepliesAndPushesOfRESP3AreRead(t *testing.T) {
	t.Parallel()
	in := bufio.NewReader(strings.NewReader("+OK\r\n-ERR no\r\n:7\r\n$3\r\na\r\n\r\n$-1\r\n_\r\n,1.5\r\n#t\r\n" +
		"%1\r\n$1\r\nk\r\n*2\r\n:1\r\n_\r\n>3\r\n+message\r\n$1\r\nc\r\n=5\r\ntxt:m\r\n~0\r\n"))
	want := []any{
		"OK", respError("ERR no"), 7, "a\r\n", nil, nil, "1.5", "t",
		[]any{"k", []any{1, nil}}, pushed{"message", "c", "txt:m"}, []any(nil),
	}
	for _, w := range want {
		if got, err := readRESP(in); err != nil || !reflect.DeepEqual(got, w) {
			t.Errorf("read %#v, %v, want %#v", got, err, w)
		}
	}
	for _, wrong := range []string{"", "+OK", "+OK\n", "?1\r\n", "$x\r\n", "$5\r\nab\r\n", "*2\r\n:1\r\n", "$999999999999\r\n", "*999999999999\r\n"} {
		if got, err := readRESP(bufio.NewReader(strings.NewReader(wrong))); err == nil {
			t.Errorf("%q is read as %#v", wrong, got)
		}
	}
	if got := string(appendRequest(nil, "GET", "k")); !slices.Equal(strings.Fields(got), []string{"*2", "$3", "GET", "$1", "k"}) {
		t.Errorf("a request is written as %q", got)
	}
}
