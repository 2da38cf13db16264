package scenarios

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/faults"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/party"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// The words that fields of a fault allow.
var (
	momentNames = faults.Moments()
	opNames     = []string{"acquire", "release", "inspect", "extend", "observe", "background"}
)

// commandName is a Redis command as the servers know it.
var commandName = regexp.MustCompile(`^[A-Z][A-Z0-9_.|-]*$`)

// anyPrimary targets the present primary at the time of the strike.
const anyPrimary = "primary"

func (v validator) faults() error {
	for i, spec := range v.s.Faults {
		if err := v.fault(fmt.Sprintf("faults[%d]", i), spec); err != nil {
			return err
		}
	}
	return nil
}

func (v validator) fault(path string, spec faults.Spec) error {
	names := english.Words(faults.Vocabulary(), func(kind faults.Kind) string { return kind.Name })
	if err := v.required(path+".fault", spec.Fault, "one of: "+strings.Join(names, ", ")); err != nil {
		return err
	}
	kind, ok := faults.Lookup(spec.Fault)
	if !ok {
		return v.at(path+".fault", didYouMean(spec.Fault, names), "unknown fault %q", spec.Fault)
	}
	for _, check := range []func(string, faults.Spec, faults.Kind) error{v.parties, v.when, v.params} {
		if err := check(path, spec, kind); err != nil {
			return err
		}
	}
	if err := kind.Available(spec, v.world()); err != nil {
		return v.at(path+".fault", "holdfast list faults says what each fault takes", "%s cannot strike here: %v", spec.Fault, err)
	}
	return nil
}

// parties checks that the target and its peer exist.
func (v validator) parties(path string, spec faults.Spec, kind faults.Kind) error {
	if len(spec.Target) == 0 {
		return v.at(path+".target", "such as target: "+v.example(kind), "%s.target is missing", path)
	}
	allowed := v.named(kind.Targets())
	for _, side := range []struct {
		key   string
		names faults.Names
	}{{"target", spec.Target}, {"peer", spec.Peer}} {
		for i, name := range side.names {
			if !slices.Contains(allowed, name) {
				return v.name(path+"."+side.key, i, name, kind.Targets(), allowed)
			}
		}
	}
	if spec.To != "" && !slices.Contains(v.nodes(), spec.To) {
		return v.at(path+".to", didYouMean(spec.To, v.nodes()), "unknown node %q", spec.To)
	}
	return nil
}

// name returns the error about a name that is not allowed.
func (v validator) name(path string, i int, name, want string, allowed []string) error {
	if item := fmt.Sprintf("%s[%d]", path, i); v.d.has(item) {
		path = item
	}
	if all := v.named("link"); slices.Contains(all, name) {
		return v.at(path, "", "%q is not a %s", name, want)
	}
	if want == "link" {
		want = "client or node"
	}
	return v.at(path, didYouMean(name, allowed), "unknown %s %q", want, name)
}

// when checks the anchor of a fault.
func (v validator) when(path string, spec faults.Spec, kind faults.Kind) error {
	switch {
	case spec.At == nil && spec.On == nil:
		return v.at(path, "add at: 3s, or on: {moment: granted, client: client-1}", "the fault does not say when it strikes")
	case spec.At != nil && spec.On != nil:
		return v.atKey(path+".on", "keep one; after: 1s adds a delay to either", "the fault has both at and on")
	case spec.At != nil && *spec.At < 0:
		return v.at(path+".at", "", "%s.at is below 0", path)
	case spec.For > 0 && !kind.Lasts:
		return v.atKey(path+".for", "leave for out", "%s happens at once and does not last", spec.Fault)
	}
	switch {
	case spec.Until != nil && !kind.Lasts:
		return v.atKey(path+".until", "leave until out", "%s happens at once and does not last", spec.Fault)
	case spec.Until != nil && v.d.has(path+".for"):
		return v.atKey(path+".until", "keep one", "the fault has both for and until")
	}
	if err := v.notNegative(path+".after", spec.After); err != nil {
		return err
	}
	if err := v.notNegative(path+".within", spec.Within); err != nil {
		return err
	}
	if err := v.notNegative(path+".for", spec.For); err != nil {
		return err
	}
	if spec.On != nil {
		if err := v.anchor(path+".on", *spec.On); err != nil {
			return err
		}
	}
	if spec.Until != nil {
		return v.anchor(path+".until", *spec.Until)
	}
	return nil
}

func (v validator) anchor(path string, a faults.Anchor) error {
	if err := v.required(path+".moment", a.Moment, "one of: "+strings.Join(momentNames, ", ")); err != nil {
		return err
	}
	for _, f := range []struct {
		key, is string
		allowed []string
	}{
		{"moment", a.Moment, momentNames}, {"client", a.Client, v.clients()},
		{"node", a.Node, v.nodes()}, {"op", a.Op, opNames},
	} {
		if v.d.has(path+"."+f.key) && !slices.Contains(f.allowed, f.is) {
			return v.at(path+"."+f.key, didYouMean(f.is, f.allowed), "unknown %s %q", f.key, f.is)
		}
	}
	for _, k := range []struct {
		key, why string
		allowed  bool
	}{
		{"node", "only requests, replies and messages come from or to a server", a.OnLink()},
		{"command", "only received, executed and answered are about a request", a.OfRequest()},
		{"changed", "only executed is about what a request has done", a.OfRequest()},
	} {
		if v.d.has(path+"."+k.key) && !k.allowed {
			return v.atKey(path+"."+k.key, k.why, "%s has no %s", a.Moment, k.key)
		}
	}
	switch {
	case a.Op != "" && !a.OnLink() && a.Moment != faults.Invoked:
		return v.atKey(path+".op", "leave op out", "%s says already in which operation", a.Moment)
	case a.Op == "background" && a.Moment == faults.Invoked:
		return v.at(path+".op", "received and executed happen in the background as well", "invoked is about operations of the workload")
	case a.Changed && a.Moment == faults.Answered:
		return v.atKey(path+".changed", "use moment: executed", "nobody knows of a reply what its request has changed")
	case a.Changed && a.Moment == faults.Received:
		return v.atKey(path+".changed", "use moment: executed", "a request that was only received has changed nothing yet")
	case a.Command != "" && !commandName.MatchString(a.Command):
		return v.at(path+".command", "such as command: EVALSHA", "a command is one word in upper case, not %q", a.Command)
	case v.d.has(path+".command") && a.Command == "":
		return v.at(path+".command", "leave it out to match any", "%s.command is empty", path)
	case v.d.has(path+".nth") && a.Nth < 1:
		return v.at(path+".nth", "1 is the first", "%s.nth is %d: must be at least 1", path, a.Nth)
	}
	return nil
}

// params checks that a fault accepts its parameters, and that named values are
// known. The fault itself checks numbers.
func (v validator) params(path string, spec faults.Spec, kind faults.Kind) error {
	for _, p := range []struct {
		key string
		is  string // when one of fixed words
	}{
		{"peer", ""}, {"by", ""}, {"jitter", ""}, {"rate", ""}, {"to", ""},
		{"data", spec.Data}, {"direction", spec.Direction}, {"mode", spec.Mode},
	} {
		at := path + "." + p.key
		if !v.d.has(at) {
			continue
		}
		param, takes := kind.Takes(p.key)
		if !takes {
			hint := "it takes no parameters"
			if len(kind.Params) > 0 {
				hint = "it takes " + strings.Join(kind.ParamNames(), ", ")
			}
			return v.atKey(at, hint, "%s does not take %s", spec.Fault, p.key)
		}
		if len(param.Words) > 0 && !slices.Contains(param.Words, p.is) {
			return v.at(at, didYouMean(p.is, param.Words), "%q is not a %s", p.is, p.key)
		}
	}
	if spec.Rate < 0 || v.d.has(path+".rate") && spec.Rate == 0 {
		return v.at(path+".rate", "1 is true time, 1.05 runs 5 % fast", "%s.rate must be above 0", path)
	}
	return nil
}

// world is the largest world in which the scenario is played.
func (v validator) world() faults.Topology {
	t := v.s.Topology
	groups := max(1, t.Groups)
	for _, lock := range v.locks() {
		groups = max(groups, locks.MustFind(lock).Groups)
	}
	return faults.Topology{World: "sim", Clients: t.Clients, Groups: groups, Replicas: t.Replicas, Cluster: t.Cluster}
}

func (v validator) nodes() []string {
	var names []string
	for g := range v.world().Groups {
		names = append(names, party.Node(g+1))
	}
	for g := range v.world().Groups {
		for r := range v.s.Topology.Replicas {
			names = append(names, party.Replica(party.Node(g+1), r+1))
		}
	}
	return names
}

// named are the allowed names of a kind of target.
func (v validator) named(target string) []string {
	switch target {
	case "client":
		return v.clients()
	case "node":
		return append(v.nodes(), anyPrimary)
	}
	return slices.Concat(v.clients(), v.nodes(), []string{anyPrimary})
}

func (v validator) example(kind faults.Kind) string {
	if kind.Target == "node" {
		return "node-1"
	}
	return "client-1"
}
