// Package version is the version of Holdfast.
package version

// Holdfast is part of every history: scenario, seed and version are enough to
// run again.
const Holdfast = "0.1.0"
