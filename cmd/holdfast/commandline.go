package main

import "strings"

// commandLine is a command by which somebody does the same again.
type commandLine []string

// flag adds a flag if it is given; a value may be empty.
func (c *commandLine) flag(given bool, name string, value ...string) {
	if given {
		*c = append(append(*c, name), value...)
	}
}

func (c commandLine) String() string { return strings.Join(c, " ") }
