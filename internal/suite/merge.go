package suite

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/internal/disk"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/reports/results"
	"github.com/holdfast-go/holdfast/scenarios"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// Part is a run directory to merge, or the merged result of several.
type Part struct {
	Results results.Results
	// scenarios are the sources, by name; from says in which directory a run
	// and its history are, by the run.
	scenarios map[string]string
	from      map[RunID]Dir
}

// RunID identifies a run: two runs with the same one are the same run.
type RunID struct {
	scenario, lock, world, user string
	seed                        uint64
}

func IDOf(r *results.Run) RunID { return RunID{r.Scenario, r.Lock, r.World, r.User, r.Seed} }

// String names the run in a message.
func (id RunID) String() string {
	by := ""
	if id.user != "" {
		by = ", a " + id.user + " user"
	}
	return fmt.Sprintf("%s with %s in %s, seed %d%s", id.scenario, id.lock, id.world, id.seed, by)
}

// readPart reads a complete run directory. A missing or edited file is an error.
func readPart(d Dir) (Part, error) {
	if info, err := os.Stat(d.File("results.json")); err == nil && info.Size() == 0 {
		return Part{}, fmt.Errorf("%s is not whole: the command that wrote it was ended before its results were there", d)
	}
	res, err := d.ReadResults()
	if err != nil {
		return Part{}, err
	}
	if edited := d.Edited(res); len(edited) > 0 {
		return Part{}, fmt.Errorf("%s: %s changed since the run: the hash is not the one in results.json", d, edited[0])
	}
	if missing := d.Missing(res); len(missing) > 0 {
		return Part{}, fmt.Errorf("%s: %s is missing", d, strings.Join(missing, ", "))
	}
	res.Pending = nil // no run of another directory is pending in the joined one
	p := Part{Results: res, scenarios: map[string]string{}, from: map[RunID]Dir{}}
	for _, r := range res.Runs {
		p.from[IDOf(&r)] = d
		src, err := readScenario(d.File("scenarios", r.Scenario+".yaml"), r.Scenario)
		if err != nil {
			return Part{}, err
		}
		p.scenarios[r.Scenario] = src
	}
	return p.ordered(), nil
}

// readScenario reads the source of a scenario, and refuses what is none.
func readScenario(path, name string) (string, error) {
	src, err := scenarios.ReadSource(path)
	if err != nil {
		return "", err
	}
	s, err := scenarios.Parse(path, src)
	if err != nil {
		return "", err
	}
	if s.Name != name {
		return "", fmt.Errorf("%s: the scenario is called %s", path, s.Name)
	}
	return string(src), nil
}

// Join merges two parts. The same run in both counts once. It fails if that run
// differs between them, or if their versions of Holdfast differ. Order and
// repetition do not change the results.
func Join(a, b Part) (Part, error) {
	if a.Results.Version != b.Results.Version {
		return Part{}, fmt.Errorf("there are runs of version %s and of version %s, which may differ", a.Results.Version, b.Results.Version)
	}
	out := Part{Results: a.Results, scenarios: maps.Clone(a.scenarios), from: maps.Clone(a.from)}
	out.Results.Command = joinCommands(a.Results.Command, b.Results.Command)
	out.Results.Made = first(a.Results.Made, b.Results.Made)
	out.Results.Interrupted = a.Results.Interrupted || b.Results.Interrupted
	out.Results.Skipped = slices.Concat(a.Results.Skipped, b.Results.Skipped)
	for _, name := range slices.Sorted(maps.Keys(b.scenarios)) {
		if src, known := out.scenarios[name]; known && src != b.scenarios[name] {
			return Part{}, fmt.Errorf("there are two scenarios that are called %s", name)
		}
		out.scenarios[name] = b.scenarios[name]
	}
	at := map[RunID]int{}
	out.Results.Runs = slices.Clone(a.Results.Runs)
	for i, r := range out.Results.Runs {
		at[IDOf(&r)] = i
	}
	for _, r := range b.Results.Runs {
		id := IDOf(&r)
		i, known := at[id]
		if !known {
			out.Results.Runs = append(out.Results.Runs, r)
			out.from[id] = b.from[id]
			continue
		}
		x := &out.Results.Runs[i]
		if field := differ(*x, r); field != "" {
			return Part{}, fmt.Errorf("%s is in %s and in %s, and differs: %s", id, a.from[id], b.from[id], field)
		}
		if x.History == "" && r.History != "" {
			x.History, out.from[id] = r.History, b.from[id]
		}
		x.Stats.WallMS = min(x.Stats.WallMS, r.Stats.WallMS)
		x.File = min(x.File, r.File)
	}
	return out.ordered(), nil
}

// JoinDirs reads run directories and merges them. It also lists the interrupted ones.
func JoinDirs(dirs []string) (whole Part, interrupted []string, err error) {
	for i, d := range dirs {
		p, err := readPart(Dir(d))
		if err != nil {
			return Part{}, nil, err
		}
		if p.Results.Interrupted {
			interrupted = append(interrupted, d)
		}
		if i == 0 {
			whole = p
		} else if whole, err = Join(whole, p); err != nil {
			return Part{}, nil, err
		}
	}
	return whole, interrupted, nil
}

// differ names the first field in which two plays of one run differ, by their JSON. It
// ignores the duration, the scenario's file, and the history's path.
func differ(a, b results.Run) string {
	x, y := fieldsOf(a), fieldsOf(b)
	all := maps.Clone(x)
	maps.Copy(all, y)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !bytes.Equal(x[name], y[name]) {
			return name
		}
	}
	return ""
}

func fieldsOf(r results.Run) map[string]json.RawMessage {
	r.Stats.WallMS, r.File, r.History = 0, "", ""
	fields := map[string]json.RawMessage{}
	raw, err := json.Marshal(r)
	if err = errors.Join(err, json.Unmarshal(raw, &fields)); err != nil {
		panic("suite: encode results: " + err.Error()) // they were read from JSON
	}
	return fields
}

// andThen is between the commands of results that were joined.
const andThen = " && "

func joinCommands(a, b string) string {
	all := slices.Concat(strings.Split(a, andThen), strings.Split(b, andThen))
	all = slices.DeleteFunc(all, func(c string) bool { return c == "" })
	slices.Sort(all)
	return strings.Join(slices.Compact(all), andThen)
}

// ordered puts the runs in the order of the catalogue and of the built-in locks,
// others after them, and the histories where their runs say. A skip goes when
// there is a run after all.
func (p Part) ordered() Part {
	names, locks := scenarios.Names(), locks.Names()
	compare := func(s1, l1, s2, l2 string) int {
		return cmp.Or(place(names, s1)-place(names, s2), strings.Compare(s1, s2), place(locks, l1)-place(locks, l2), strings.Compare(l1, l2))
	}
	runs := slices.Clone(p.Results.Runs)
	slices.SortFunc(runs, func(a, b results.Run) int {
		return cmp.Or(compare(a.Scenario, a.Lock, b.Scenario, b.Lock), strings.Compare(a.User, b.User), strings.Compare(a.World, b.World), cmp.Compare(a.Seed, b.Seed))
	})
	skipped := slices.DeleteFunc(slices.Clone(p.Results.Skipped), func(s results.Skip) bool {
		return slices.ContainsFunc(runs, func(r results.Run) bool { return r.Scenario == s.Scenario && r.Lock == s.Lock && r.User == s.User })
	})
	slices.SortFunc(skipped, func(a, b results.Skip) int {
		return cmp.Or(compare(a.Scenario, a.Lock, b.Scenario, b.Lock), strings.Compare(a.User, b.User), strings.Compare(a.Reason, b.Reason))
	})
	p.Results.Runs, p.Results.Skipped = runs, slices.Compact(skipped)
	p.Results.Command = joinCommands(p.Results.Command, "")
	p.Results.Summary = results.Summarize(runs)
	return p
}

// place is the position of a name in a list, or the list's length.
func place(list []string, name string) int {
	if i := slices.Index(list, name); i >= 0 {
		return i
	}
	return len(list)
}

// Create makes the run directory for a part, as [Create] does.
func (p Part) Create(path string) (Dir, error) {
	plan := p.Results
	plan.Pending = append(plan.Pending, english.Words(p.Results.Runs, historyOf)...)
	return Create(path, plan)
}

// Write fills a run directory with a part. It copies histories and scenarios, lets
// draw write the report, and writes the results last. It leaves all other files,
// such as the logs of servers, where they are.
func (p Part) Write(out Dir, draw func(Dir, results.Results) error) error {
	for _, name := range slices.Sorted(maps.Keys(p.scenarios)) {
		if err := out.WriteScenario(name, []byte(p.scenarios[name])); err != nil {
			return err
		}
	}
	res := p.Results
	res.Runs = slices.Clone(res.Runs)
	for i := range res.Runs {
		r := &res.Runs[i]
		if r.History == "" {
			continue
		}
		from := p.from[IDOf(r)].File(r.History)
		r.History = historyOf(*r)
		if err := copyFile(from, out.File(r.History)); err != nil {
			return err
		}
	}
	if err := draw(out, res); err != nil {
		return err
	}
	return out.WriteResults(res)
}

// historyOf is where the history of a run goes in a directory that may hold
// runs of both worlds.
func historyOf(r results.Run) string {
	path := HistoryPath(r.Scenario, r.Lock, r.Seed, r.User)
	if r.World == "sim" {
		return path
	}
	return strings.TrimSuffix(path, ".jsonl") + "-" + r.World + ".jsonl"
}

// copyFile copies a file completely, or leaves none.
func copyFile(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return disk.Copy(from, to)
}

// first is where the part that was begun first comes from.
func first(a, b *results.Made) *results.Made {
	if a == nil || b != nil && cmp.Or(cmp.Compare(b.Date, a.Date), cmp.Compare(b.Build, a.Build), cmp.Compare(b.Go, a.Go), cmp.Compare(b.Host, a.Host)) < 0 {
		return b
	}
	return a
}
