// Package must ends a test at an error that the test does not expect.
package must

// T is a test, such as [testing.T] or a check of package rapid.
type T interface {
	Helper()
	Fatal(args ...any)
}

// Succeed ends the test if err is an error.
func Succeed(t T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
