package adapter

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// An author of an adapter in another language has nothing but the page. This side must
// send and take its examples, and nothing may be missing.
func TestDocs(t *testing.T) {
	b, err := os.ReadFile("../../docs/adapter-protocol.md")
	must.Succeed(t, err)
	page := string(b)
	asked := map[int64]request{}
	for line := range strings.Lines(page) {
		if out, ok := strings.CutPrefix(line, "    > "); ok {
			r, err := decodeRequest([]byte(out))
			strict := json.NewDecoder(bytes.NewReader([]byte(out)))
			strict.DisallowUnknownFields()
			if err != nil || strict.Decode(new(request)) != nil {
				t.Errorf("no request: %s: %v", out, err)
			}
			asked[r.ID] = r
		} else if in, ok := strings.CutPrefix(line, "    < "); ok {
			m, err := decode([]byte(in))
			strict := json.NewDecoder(bytes.NewReader([]byte(in)))
			strict.DisallowUnknownFields()
			if err != nil || strict.Decode(new(message)) != nil {
				t.Errorf("no answer: %s: %v", in, err)
			}
			if _, ok := asked[m.ID]; !ok && m.Event == "" {
				t.Errorf("nobody asked: %s", in)
			}
		}
	}
	if len(asked) == 0 {
		t.Error("there is no example")
	}
	words := []string{Protocol, eventLost, doDescribe, doHello, doIdentity, doAcquire, doRelease, doExtend, doState, doSettle, doCancel, doClose, doFinish, doStop}
	for c := range classes {
		words = append(words, c)
	}
	for _, v := range []any{request{}, Hello{}, Access{}, reply{}, Ready{}, locks.Description{}, history.Claims{}, locks.Known{}, locks.BundledServers{}, locks.Drift{}} {
		typ := reflect.TypeOf(v)
		for i := range typ.NumField() {
			if name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ","); name != "" && name != "-" {
				words = append(words, name)
			}
		}
	}
	words = append(words, "address", locks.ThroughSentinels, locks.ThroughCluster)
	for _, w := range words {
		if !strings.Contains(page, "`"+w+"`") && !strings.Contains(page, `"`+w+`"`) {
			t.Errorf("the page does not mention %q", w)
		}
	}
}
