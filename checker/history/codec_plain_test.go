package history

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The JSON package reads each line that the plain reader accepts to the same event.
func FuzzPlainReader(f *testing.F) {
	for _, line := range []string{
		`{"t":0,"kind":"invoke","op":1,"f":"acquire","client":"client-1","owner":"client-1/1","lock":"stock","args":{"lease":10,"renewed":true,"wait":-1}}`,
		`{"t":5,"kind":"ok","op":1,"f":"acquire","client":"client-1","owner":"client-1/1","lock":"stock","result":{"count":1,"token":7}}`,
		`{"t":6,"kind":"invoke","op":2,"f":"write","client":"client-1","owner":"client-1/1","lock":"stock","args":{"value":4,"base":5,"token":7}}`,
		`{"t":7,"kind":"fail","op":2,"f":"write","client":"client-1","owner":"client-1/1","lock":"stock","result":{"value":3,"error":"stale","message":"a newer token"}}`,
		`{"t":8,"kind":"fault","fault":{"id":1,"name":"pause","phase":"start","targets":["client-1"],"detail":"client-1 paused"}}`,
		`{"t":9,"kind":"server","lock":"stock","server":{"node":"node-1","role":"primary","key":"stock","cause":"command","command":"EVALSHA","by":"client-1","holder":"client-1/1","count":1,"ttl":10}}`,
		`{"t":10,"kind":"end","end":{"keys":["node-1 stock"],"subscriptions":1}}`,
		`{"t":1,"t":2}`, `{"t":01}`, `{"t":-0}`, `{"t":1.5}`, `{"t":1e3}`, `{"T":1}`, `{"t":null}`, `{"kind":"\u0061"}`, "{\"kind\":\"\xff\"}",
		`{"t":1} `, `{"t":1}{}`, `{"args":{"lease":1},"args":{"wait":2}}`, `{"args":{"renewed":true}}`, `{"result":{"token":18446744073709551615}}`,
		`{"t":999999999999999999}`, `{"t":9999999999999999999}`, `{}`, `{,}`, `{"t":1,}`, `{"t":}`, `{"t":-}`, `{"args":null}`, `{"kind":"käse"}`,
		`{"kind":"log","log":{"server":"n","text":"+sdown"}}`, `{"log":{"text":"a","text":"b"}}`,
	} {
		f.Add([]byte(line + "\n"))
	}
	p := newPlainReader()
	f.Fuzz(func(t *testing.T, line []byte) {
		var got, want Event
		if bytes.IndexByte(line, '\n') != len(line)-1 || len(line) == 0 || !p.event(line, &got) {
			return
		}
		if err := strict(line, &want); err != nil {
			t.Fatalf("accepted %q: %v", line, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q: %s", line, diff)
		}
	})
}
