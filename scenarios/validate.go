package scenarios

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/party"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// Limits of a scenario.
const (
	maxClients  = 200
	maxGroups   = 9
	maxReplicas = 3
	maxOwners   = 20 // of each client
	maxName     = 512
	minLease    = 100 * time.Millisecond
)

// scenarioName makes a name safe as a file name and in an address.
var scenarioName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// validate returns the first mistake in the meaning of a decoded scenario, in the
// order of the fields of [Scenario].
func validate(s *Scenario, d *decoder) error {
	v := validator{s: s, d: d}
	for _, check := range []func() error{
		v.texts, v.header, v.topology, v.workload, v.overrides, v.extensions, v.selection, v.faults, v.expectations,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

type validator struct {
	s *Scenario
	d *decoder
}

// at returns an error about the value at a path. If the file has no such value,
// the error points to the place where it is missing.
func (v validator) at(path, hint, format string, args ...any) error {
	for path != "" && !v.d.has(path) {
		path = path[:max(0, strings.LastIndexAny(path, ".["))] // its parent
	}
	return v.d.errorf(v.d.values[path], hint, format, args...)
}

func (v validator) atKey(path, hint, format string, args ...any) error {
	if at := v.d.keys[path]; at != nil {
		return v.d.errorf(at, hint, format, args...)
	}
	return v.at(path, hint, format, args...)
}

// required returns an error if a text is missing or blank.
func (v validator) required(path, text, hint string) error {
	switch {
	case !v.d.has(path):
		return v.at(path, hint, "%s is missing", path)
	case strings.TrimSpace(text) == "":
		return v.at(path, hint, "%s is empty", path)
	}
	return nil
}

// texts are in every scenario, with a hint each.
var texts = [...]struct{ key, hint string }{
	{"scenario", "the scenario's name, such as scenario: my-failover"},
	{"title", "one line for the report's table of contents"},
	{"story", "say what is done and why it matters: it opens the scenario's page in the report"},
	{"otherwise", "argue why every other verdict is ok"},
}

// texts names all missing texts at once.
func (v validator) texts() error {
	var missing, hints []string
	for _, t := range texts {
		if !v.d.has(t.key) {
			missing, hints = append(missing, t.key), append(hints, t.key+": "+t.hint)
		}
	}
	if len(missing) > 1 {
		return v.at(missing[0], strings.Join(hints, "; "), "%s are missing", english.And(missing))
	}
	for i, text := range []string{v.s.Name, v.s.Title, v.s.Story, v.s.Otherwise} {
		if err := v.required(texts[i].key, text, texts[i].hint); err != nil {
			return err
		}
	}
	return nil
}

func (v validator) header() error {
	if !scenarioName.MatchString(v.s.Name) || len(v.s.Name) > 64 {
		return v.at("scenario", "lower case letters, digits and single dashes, at most 64: it names files",
			"%q cannot be the name of a scenario", v.s.Name)
	}
	if strings.ContainsAny(strings.TrimSpace(v.s.Title), "\r\n") {
		return v.at("title", "put the rest into story", "title has more than one line")
	}
	return nil
}

func (v validator) topology() error {
	t := v.s.Topology
	switch {
	case !v.d.has("topology.clients"):
		return v.at("topology.clients", "how many processes compete, such as clients: 3", "topology.clients is missing")
	case t.Clients < 1 || t.Clients > maxClients:
		return v.at("topology.clients", "", "topology.clients is %d: must be 1 to %d", t.Clients, maxClients)
	case t.Groups < 0 || t.Groups > maxGroups:
		return v.at("topology.groups", "", "topology.groups is %d: must be 0 to %d", t.Groups, maxGroups)
	case t.Replicas < 0 || t.Replicas > maxReplicas:
		return v.at("topology.replicas", "", "topology.replicas is %d: must be 0 to %d", t.Replicas, maxReplicas)
	case t.Cluster && t.Groups < 3:
		return v.at("topology.cluster", "add groups: 3", "a cluster has at least 3 groups, topology.groups is %d", t.Groups)
	case t.Latency.Min < 0:
		return v.at("topology.latency.min", "", "topology.latency.min is below 0")
	case t.Latency.Max < t.Latency.Min:
		return v.at("topology.latency.max", "give both min and max",
			"topology.latency.max is %v, below min, which is %v", time.Duration(t.Latency.Max), time.Duration(t.Latency.Min))
	}
	return v.notNegative("topology.lag", t.Lag)
}

func (v validator) notNegative(path string, x faults.Duration) error {
	if x < 0 {
		return v.at(path, "", "%s is below 0", path)
	}
	return nil
}

// lease checks a lease of the file.
func (v validator) lease(path string, x faults.Duration) error {
	if time.Duration(x) < minLease {
		return v.at(path, "a lease must be long compared with a round trip, which takes about 1ms",
			"%s is %v: must be at least %v", path, time.Duration(x), minLease)
	}
	return nil
}

func (v validator) holds(path string, n int) error {
	if n < 1 {
		return v.at(path, "", "%s is %d: must be at least 1", path, n)
	}
	return nil
}

// names checks the names of locks: any text up to the size limit.
func (v validator) names() error {
	w := v.s.Workload
	if v.d.has("workload.lock") && v.d.has("workload.locks") {
		return v.atKey("workload.locks", "leave lock out", "there are both lock and locks")
	}
	if v.d.has("workload.locks") && len(w.Locks) == 0 {
		return v.at("workload.locks", "such as locks: [stock, till]", "workload.locks names no lock")
	}
	if w.Together && len(w.Locks) < 2 {
		return v.at("workload.together", "such as locks: [stock, till]", "workload.together is about two locks or more")
	}
	if v.d.has("workload.lock") {
		return v.lockName("workload.lock", w.Lock)
	}
	for i, name := range w.Locks {
		path := fmt.Sprintf("workload.locks[%d]", i)
		if err := v.lockName(path, name); err != nil {
			return err
		}
		if slices.Index(w.Locks, name) < i {
			return v.at(path, "", "lock %q is listed twice", name)
		}
	}
	return nil
}

func (v validator) lockName(path, name string) error {
	switch {
	case name == "":
		return v.at(path, "choose any other text, such as stock", "a lock needs a name: this one is empty")
	case len(name) > maxName:
		return v.at(path, "", "the name of a lock has at most %d bytes, this one %d", maxName, len(name))
	}
	return nil
}

func (v validator) workload() error {
	w := v.s.Workload
	if err := v.names(); err != nil {
		return err
	}
	if !v.d.has("workload.holds") {
		return v.at("workload.holds", "how often each client takes the lock, such as holds: 3", "workload.holds is missing")
	}
	if err := v.holds("workload.holds", w.Holds); err != nil {
		return err
	}
	if !v.d.has("workload.lease") {
		return v.at("workload.lease", "how long a hold lasts unless renewed, such as lease: 10s", "workload.lease is missing")
	}
	if err := v.lease("workload.lease", w.Lease); err != nil {
		return err
	}
	for _, f := range []struct {
		path string
		is   faults.Duration
	}{
		{"workload.wait", w.Wait}, {"workload.think", w.Think}, {"workload.rest", w.Rest},
		{"workload.start", w.Start}, {"workload.stagger", w.Stagger}, {"workload.close", w.Close}, {"workload.extend", w.Extend}, {"workload.observe", w.Observe},
	} {
		if err := v.notNegative(f.path, f.is); err != nil {
			return err
		}
	}
	for i, lease := range w.Nested {
		if lease != 0 {
			if err := v.lease(fmt.Sprintf("workload.nested[%d]", i), lease); err != nil {
				return err
			}
		}
	}
	switch users := []string{history.Careful, history.Careless}; {
	case v.d.has("workload.user") && !slices.Contains(users, w.User):
		return v.at("workload.user", didYouMean(w.User, users), "%q is not a kind of user", w.User)
	case w.User == history.Careful && w.Carry:
		return v.at("workload.user", "leave carry out", "a careful user stops at the notice of a loss, and cannot have carry")
	}
	if v.d.has("workload.owners") && (w.Owners < 1 || w.Owners > maxOwners) {
		return v.at("workload.owners", "", "workload.owners is %d: must be 1 to %d", w.Owners, maxOwners)
	}
	if v.s.shutsDown() && w.AtOnce() > 1 {
		return v.at("workload.owners", "leave owners out", "a shutdown releases the holds of all owners of a process, and would take those of others")
	}
	if w.Herd && w.Rest != 0 {
		return v.at("workload.herd", "leave rest out", "a herd does not rest")
	}
	if w.Acks < 0 || w.Acks > maxReplicas {
		return v.at("workload.acks", "", "workload.acks is %d: must be 0 to %d", w.Acks, maxReplicas)
	}
	if turns := []string{"downgrades", "upgrades"}; w.Turn != "" && !slices.Contains(turns, w.Turn) {
		return v.at("workload.turn", didYouMean(w.Turn, turns), "%q is not a turn of readers and writers", w.Turn)
	}
	if w.Permits < 0 {
		return v.at("workload.permits", "", "workload.permits is %d: must be 1 or more", w.Permits)
	}
	return v.minGrants()
}

// minGrants checks that the clients can have as many grants as the file asks for.
func (v validator) minGrants() error {
	w := v.s.Workload
	most := 0
	for i := range v.s.Topology.Clients {
		holds := w.Holds
		if o := v.s.Override[party.Client(i+1)]; o.Holds != nil {
			holds = *o.Holds
		}
		most += holds * w.AtOnce() * w.Sections() * (1 + len(w.Nested))
	}
	if w.MinGrants < 0 || w.MinGrants > most {
		return v.at("workload.min_grants", "", "workload.min_grants is %d: these clients can have 0 to %d grants", w.MinGrants, most)
	}
	return nil
}

// extensions checks that no extension is shorter than a lease: some locks would cut the
// hold short, and others would not.
func (v validator) extensions() error {
	for i := range v.s.Topology.Clients {
		w := v.s.WorkloadOf(i + 1)
		longest := slices.Max(append(slices.Clone(w.Nested), w.Lease))
		if w.Extend > 0 && w.Extend < longest {
			path := "workload.extend"
			if v.s.Override[party.Client(i+1)].Extend != nil {
				path = "override." + party.Client(i+1) + ".extend"
			}
			return v.at(path, "", "%s is %v, shorter than a lease of %s, which is %v", path, time.Duration(w.Extend), party.Client(i+1), time.Duration(longest))
		}
	}
	return nil
}

func (v validator) overrides() error {
	for _, client := range slices.Sorted(maps.Keys(v.s.Override)) {
		o, path := v.s.Override[client], "override."+client
		if clients := v.clients(); !slices.Contains(clients, client) {
			return v.atKey(path, didYouMean(client, clients), "unknown client %q", client)
		}
		if o.Holds != nil {
			if err := v.holds(path+".holds", *o.Holds); err != nil {
				return err
			}
		}
		if o.Lease != nil {
			if err := v.lease(path+".lease", *o.Lease); err != nil {
				return err
			}
		}
		for _, f := range []struct {
			key string
			is  *faults.Duration
		}{
			{".wait", o.Wait}, {".think", o.Think}, {".rest", o.Rest}, {".start", o.Start}, {".close", o.Close}, {".extend", o.Extend},
		} {
			if f.is != nil {
				if err := v.notNegative(path+f.key, *f.is); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// selection checks needs, only and except.
func (v validator) selection() error {
	if err := cmp.Or(v.list("needs", v.s.Needs, "claim", needWords()), v.list("only", v.s.Only, "lock", locks.Names())); err != nil {
		return err
	}
	for _, lock := range slices.Sorted(maps.Keys(v.s.Except)) {
		path := "except." + lock
		if !slices.Contains(locks.Names(), lock) {
			return v.atKey(path, didYouMean(lock, locks.Names()), "unknown lock %q", lock)
		}
		if len(v.s.Only) > 0 && !slices.Contains(v.s.Only, lock) {
			return v.atKey(path, "", "only leaves %s out already", lock)
		}
		if err := v.required(path, v.s.Except[lock], "say why the scenario cannot be played with it"); err != nil {
			return err
		}
	}
	for i, lock := range v.s.Only {
		if ok, reason := v.s.suits(locks.MustFind(lock)); !ok && v.s.Except[lock] == "" {
			return v.at(fmt.Sprintf("only[%d]", i), "", "the scenario cannot be played with %s: %s", lock, reason)
		}
	}
	if len(v.s.Only)+len(v.s.Except) > 0 && len(v.locks()) == 0 {
		return v.atKey("except", "", "no built-in lock is left to play the scenario with")
	}
	return nil
}

// list checks that the words of a list are known and unique. what names one.
func (v validator) list(path string, words []string, what string, known []string) error {
	for i, word := range words {
		at := fmt.Sprintf("%s[%d]", path, i)
		if !slices.Contains(known, word) {
			return v.at(at, didYouMean(word, known), "unknown %s %q", what, word)
		}
		if slices.Index(words, word) < i {
			return v.at(at, "", "%s is listed twice", word)
		}
	}
	return nil
}

func (v validator) expectations() error {
	for i, e := range v.s.Expect {
		path := fmt.Sprintf("expect[%d]", i)
		if len(e.Locks) == 0 {
			return v.at(path+".locks", "such as locks: [set-px, set-px-lua]", "%s.locks is missing", path)
		}
		if err := v.list(path+".locks", e.Locks, "lock", locks.Names()); err != nil {
			return err
		}
		for j, lock := range e.Locks {
			if ok, reason := v.s.Applies(locks.MustFind(lock)); !ok {
				return v.at(fmt.Sprintf("%s.locks[%d]", path, j), "expect nothing of it",
					"the scenario is not played with %s: %s", lock, reason)
			}
		}
		if len(e.Verdicts) == 0 {
			return v.at(path+".verdicts", "such as verdicts: {exclusion: violated}", "%s.verdicts is missing", path)
		}
		for _, property := range slices.Sorted(maps.Keys(e.Verdicts)) {
			at := path + ".verdicts." + property
			if names := propertyNames(); !slices.Contains(names, property) {
				return v.atKey(at, didYouMean(property, names), "unknown property %q", property)
			}
			verdict := e.Verdicts[property]
			if allowed := verdictsOf(checker.Property(property)); !slices.Contains(allowed, verdict) {
				return v.at(at, didYouMean(verdict, allowed), "%q is not a verdict on %s", verdict, property)
			}
		}
		if err := v.required(path+".because", e.Because, "argue from how the lock works why this must come out"); err != nil {
			return err
		}
	}
	return nil
}

// locks are the locks with which the scenario is played.
func (v validator) locks() []string {
	return slices.DeleteFunc(locks.Names(), func(lock string) bool {
		ok, _ := v.s.suits(locks.MustFind(lock))
		return !ok
	})
}

func (v validator) clients() []string {
	names := make([]string, max(0, v.s.Topology.Clients))
	for i := range names {
		names[i] = party.Client(i + 1)
	}
	return names
}
