package playground

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/version"
	"github.com/holdfast-go/holdfast/reports"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

//go:embed page
var pageFiles embed.FS

var index = template.Must(template.ParseFS(pageFiles, "page/index.html"))

// where says how a page plays.
type where string

// The places where a page may play.
const (
	overHTTP  where = "http" // it asks the server that it comes from
	InBrowser where = "wasm" // it has the simulator with it, as [Simulator]
)

// Simulator is the file in which a page finds the simulator: WebAssembly, gzipped.
const Simulator = "holdfast.wasm.gz"

// policy is the content security policy of a page: it loads its own files alone,
// and runs no script that stands in the page.
func policy(w where) string {
	scripts := "'self'"
	if w == InBrowser {
		scripts += " 'wasm-unsafe-eval'"
	}
	return "default-src 'none'; script-src " + scripts + "; worker-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'"
}

type view struct {
	Where    where
	Policy   string
	Version  string
	Patterns template.HTML
	Groups   []group
	Locks    []choice
}

type group struct {
	Hazard    string
	Scenarios []choice
}

type choice struct {
	Name, About string
	Locks       string // with which a scenario is played
}

// Files are the files of the page, by name. [InBrowser] needs two more beside them:
// [Simulator], and the wasm_exec.js of the Go release that built it.
func Files(w where) (map[string][]byte, error) {
	v := view{Where: w, Policy: policy(w), Version: version.Holdfast, Patterns: reports.Patterns()}
	for _, name := range locks.Names() {
		v.Locks = append(v.Locks, choice{Name: name, About: locks.MustFind(name).Summary()})
	}
	for _, hazard := range faults.Families() {
		g := group{Hazard: hazard}
		for _, s := range scenarios.Catalogue() {
			if faults.FamilyOf(s.Faults) == hazard {
				g.Scenarios = append(g.Scenarios, choice{s.Name, s.Title, strings.Join(locksOf(s), " ")})
			}
		}
		if len(g.Scenarios) > 0 {
			v.Groups = append(v.Groups, g)
		}
	}
	var page bytes.Buffer
	if err := index.Execute(&page, v); err != nil {
		return nil, fmt.Errorf("write page: %w", err)
	}
	files := map[string][]byte{
		"index.html": page.Bytes(),
		"page.css":   append([]byte(reports.Style()), file("page.css")...),
		"page.js":    append([]byte(reports.Scrubber()), file("page.js")...),
		"icon.svg":   file("icon.svg"),
	}
	if w == InBrowser {
		files["worker.js"] = file("worker.js")
	}
	return files, nil
}

func file(name string) []byte {
	text, err := pageFiles.ReadFile("page/" + name)
	if err != nil {
		panic("playground: " + err.Error()) // it is embedded
	}
	return text
}

func locksOf(s *scenarios.Scenario) []string {
	return slices.DeleteFunc(locks.Names(), func(name string) bool {
		ok, _ := s.Applies(locks.MustFind(name))
		return !ok
	})
}
