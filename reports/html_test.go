package reports

import (
	"os"
	"testing"
)

// TestSampleReport writes reports to look at when HOLDFAST_SAMPLE names a
// directory.
func TestSampleReport(t *testing.T) {
	dir := os.Getenv("HOLDFAST_SAMPLE")
	if dir == "" {
		t.Skip("HOLDFAST_SAMPLE is not set")
	}
	for file, d := range map[string]Document{"sample.html": sample(), "catalogue.html": catalogue()} {
		f, err := os.Create(dir + "/" + file)
		if err != nil {
			t.Fatal(err)
		}
		if err := HTML(f, d); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if err := Text(os.Stdout, d); err != nil {
			t.Fatal(err)
		}
	}
}
