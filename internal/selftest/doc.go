// Package selftest tests Holdfast itself. It plays the mutants of the gallery and
// counts those that survive. It plays variations of scenarios and looks for
// unexpected verdicts. It compares the simulator with real servers.
package selftest
