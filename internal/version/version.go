// Package version has the version of Holdfast.
package version

import "runtime/debug"

// Holdfast is part of every history: scenario, seed and version suffice to repeat
// a run. It changes with a release, and not with each commit, so that the
// histories of two builds can be compared.
const Holdfast = "0.1.0"

// Build is the version of the main module, as the Go toolchain recorded it.
// Without a tag it names the revision. It is empty without a record, as in go
// run.
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
