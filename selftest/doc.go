// Package selftest tests Holdfast itself. It plays the locks of the gallery,
// which are wrong on purpose, and counts which of them survive. It plays
// variations of scenarios, and looks for verdicts that are not as expected. It
// compares the simulator with real servers.
package selftest
