package live

import (
	"reflect"
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
