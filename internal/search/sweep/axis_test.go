package sweep

import (
	"strings"
	"testing"
)

func TestParseAxis(t *testing.T) {
	for over, want := range map[string]string{
		"lag=10ms..50ms:5":        "10ms 20ms 30ms 40ms 50ms",
		"lag=1ms~100ms:3":         "1ms 10ms 100ms",
		"lag=1ms~500ms:4":         "1ms 7.94ms 63ms 500ms",
		"lag=0.5ms..1ms":          "500µs 556µs 611µs 667µs 722µs 778µs 833µs 889µs 944µs 1ms",
		"pause=10s,5s,8s":         "5s 8s 10s",
		"lease=30s":               "30s",
		"clock-jump=-5s..5s:2":    "-5s 5s",
		"replicas=1..3":           "1 2 3",
		"acks=1,3":                "1 3",
		"replicas=1..3:20":        "1 2 3",
		"hold=1000000ns~8ms:4":    "1ms 2ms 4ms 8ms",
		"delay=333.333ms..1s:3":   "333.333ms 667ms 1s",
		"pause=9s..12s:4":         "9s 10s 11s 12s",
		"pause=10s~20s:2":         "10s 20s",
		"lag=100ns..101ns:2":      "100ns 101ns",
		"pause=10s..10.01s:5":     "10s 10.003s 10.005s 10.008s 10.01s",
		"pause=3h..23h59m:2":      "3h0m0s 23h59m0s",
		"lag=1us..1h:2":           "1µs 1h0m0s",
		"clock-jump=-10s,10s,-5s": "-10s -5s 10s",
	} {
		a, err := parseAxis(over)
		if err != nil {
			t.Errorf("%s: %v", over, err)
			continue
		}
		var got []string
		for _, v := range a.Values {
			got = append(got, a.Param.format(v))
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: %s, want %s", over, s, want)
		}
	}
}

func TestParseAxisErrors(t *testing.T) {
	for over, want := range map[string]string{
		"lag":              "no parameter with its values\nhint: such as lag=1ms..500ms:10",
		"lag=":             "no parameter with its values",
		"lagg=1ms":         "unknown parameter \"lagg\"\nhint: did you mean lag?",
		"zzzzzz=1":         "hint: parameters: acks, clock-jump, delay, hold, lag, lease, pause, replicas",
		"lag=5":            "lag=5: \"5\" is no value of lag: a time, such as 500ms or 1.5s",
		"lag=1ms..x":       "\"x\" is no value of lag",
		"lag=5ms..1ms":     "the range ends at 1ms, not after its beginning, 5ms",
		"lag=1ms..5ms:1":   "\"1\" values: must be a number from 2 to 200",
		"lag=1ms..5ms:999": "must be a number from 2 to 200",
		"lag=1ms..5ms:":    "\"\" values",
		"lag=0s":           "0s is no value of lag",
		"pause=-1s":        "-1s is no value of pause: a time above 0",
		"clock-jump=-1s~1s": "a range by ratio begins above 0, not at -1s\n" +
			"hint: use .. for one that is evenly spaced",
		"clock-jump=0s":    "0s is no value",
		"pause=5s,8s,5s":   "5s is listed twice",
		"pause=5s,,8s":     "\"\" is no value of pause",
		"replicas=1.5":     "\"1.5\" is no value of replicas: a number from 0 to 20",
		"replicas=-1":      "is no value of replicas",
		"pause=1s..48h0m1": "is no value of pause",
		"pause=48h":        "at most 24h0m0s",
	} {
		if _, err := parseAxis(over); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", over, err, want)
		}
	}
}
