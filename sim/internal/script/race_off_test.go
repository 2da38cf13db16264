//go:build !race

package script_test

const raced = false
