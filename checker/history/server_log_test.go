package history

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-go/holdfast/internal/must"
)

// The report counts holds in histories that it reads without their server log. An
// event too many or too few would change its numbers.
func TestDecodeWithoutServerLog(t *testing.T) {
	text := `{"format":"` + Format + `","scenario":"s","lock":"l","world":"sim","seed":1,"order":"total"}
{"t":0,"kind":"invoke","op":1,"f":"acquire","client":"client-1","owner":"client-1/1","lock":"stock","args":{"lease":10}}
{"t":-9223372036854775808,"kind":"server","lock":"stock","server":{"node":"node-1","role":"primary","key":"stock","cause":"command"}}
{"kind":"server","t":1,"lock":"stock","server":{"node":"node-1","role":"primary","key":"stock","cause":"command"}}
{"t":2,"kind":"log","log":{"server":"node-1","text":"\"kind\":\"server\","}}
{"t":3,"kind":"server","lock":"stock","server":{"node":"node-1","role":"primary","key":"stock","cause":"expiry"}}
{"t":4,"kind":"end","end":{}}
`
	want, err := Decode(strings.NewReader(text))
	must.Succeed(t, err)
	want.Events = slices.DeleteFunc(want.Events, func(e Event) bool { return e.Kind == Server })
	got, err := DecodeWithoutServerLog(strings.NewReader(text))
	must.Succeed(t, err)
	if diff := cmp.Diff(want, got); diff != "" || len(got.Events) != 3 {
		t.Errorf("want the three events of no server, got %d: %s", len(got.Events), diff)
	}
	cut, _, _ := strings.Cut(text, `{"t":4`)
	if _, err := DecodeWithoutServerLog(strings.NewReader(cut)); err == nil {
		t.Error("a history that ends with an event of a server is cut off, and was accepted")
	}
}
