package version

import (
	"runtime/debug"
	"testing"
)

func TestBuild(t *testing.T) {
	revision := func(modified string) []debug.BuildSetting {
		return []debug.BuildSetting{{Key: "vcs.revision", Value: "0631edd"}, {Key: "vcs.modified", Value: modified}}
	}
	for _, tt := range []struct {
		name string
		info debug.BuildInfo
		want string
	}{
		{"a release, or a checkout with its revision", debug.BuildInfo{Main: debug.Module{Version: "v0.2.0"}, Settings: revision("false")}, "v0.2.0"},
		{"a checkout of which only the revision is known", debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: revision("false")}, "0631edd"},
		{"a checkout with changes", debug.BuildInfo{Settings: revision("true")}, "0631edd+dirty"},
		{"go run", debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, ""},
	} {
		if got := of(&tt.info); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
