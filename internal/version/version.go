// Package version is the version of Holdfast.
package version

import "runtime/debug"

// Holdfast is part of every history: scenario, seed and version are enough to
// run again. It changes with a release, and not with each commit, so that the
// histories of two builds can be compared.
const Holdfast = "0.1.0"

// Build is what the Go toolchain recorded of the running program: the version
// of its module, which names the revision where there is no tag. It is empty
// where nothing was recorded, as in go run.
func Build() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	return of(info)
}

func of(info *debug.BuildInfo) string {
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	revision := settings["vcs.revision"]
	if revision != "" && settings["vcs.modified"] == "true" {
		revision += "+dirty"
	}
	return revision
}
