package holdfast_test

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/internal/must"
)

var (
	fenced  = regexp.MustCompile("(?ms)^```.*?^```")
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	// unslugged matches the characters that GitHub leaves out of the anchor of a heading.
	unslugged = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// page reads a Markdown page without its blocks of code.
func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	must.Succeed(t, err)
	return fenced.ReplaceAllString(string(text), "")
}

// anchors returns what links to a page may name after the #.
func anchors(text string) map[string]bool {
	all := map[string]bool{}
	for _, h := range heading.FindAllStringSubmatch(text, -1) {
		all[strings.ReplaceAll(unslugged.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-")] = true
	}
	return all
}

// A reader who follows a link arrives: the file is there, and so is the heading.
func TestLinksOfPagesResolve(t *testing.T) {
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || d.Name() == "holdfast-runs") {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(name) != ".md" {
			return nil
		}
		for _, m := range link.FindAllStringSubmatch(page(t, name), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			file, anchor, _ := strings.Cut(m[1], "#")
			to := name
			if file != "" {
				to = path.Join(path.Dir(name), file)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s links to %s, which does not exist", name, m[1])
			} else if anchor != "" && path.Ext(to) == ".md" && !anchors(page(t, to))[anchor] {
				t.Errorf("%s links to %s, and %s has no such heading", name, m[1], to)
			}
		}
		return nil
	})
	must.Succeed(t, err)
}

// The table of contents lists every guide, or readers would not find it.
func TestEveryGuideIsListed(t *testing.T) {
	pages, err := fs.Glob(os.DirFS("docs"), "*.md")
	must.Succeed(t, err)
	contents := page(t, "docs/README.md")
	for _, p := range pages {
		if p != "README.md" && !strings.Contains(contents, "]("+p+")") {
			t.Errorf("docs/README.md does not list docs/%s", p)
		}
	}
}
