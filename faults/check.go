package faults

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/party"
)

// primaryName is the target for the primary of the first group at the time of the strike.
const primaryName = "primary"

// checkCommon refuses a fault that kind k cannot play in t, because of unknown
// targets, an unsupported duration, or unsupported parameters.
func checkCommon(k Kind, s Spec, t Topology) error {
	if len(s.Target) == 0 {
		return fmt.Errorf("needs a target: %s", allowed(k.Targets(), t))
	}
	for _, name := range s.Target {
		if err := checkName(name, k.Targets(), t); err != nil {
			return err
		}
	}
	for _, name := range s.Peer {
		if err := checkName(name, "link", t); err != nil {
			return fmt.Errorf("peer: %w", err)
		}
	}
	switch {
	case s.For < 0:
		return errors.New(`"for" must not be negative`)
	case s.For > 0 && !k.Lasts:
		return fmt.Errorf(`%s happens at once and does not last: leave "for" out`, k.Name)
	case s.Until != nil && !k.Lasts:
		return fmt.Errorf(`%s happens at once and does not last: leave "until" out`, k.Name)
	case s.Until != nil && s.For > 0:
		return errors.New(`takes either "for" or "until", not both`)
	case s.After < 0:
		return errors.New(`"after" must not be negative`)
	case s.Within < 0:
		return errors.New(`"within" must not be negative`)
	}
	if err := checkParams(k, s); err != nil || k.Target != "link" {
		return err
	}
	return checkLinks(s, t, !k.anyLink)
}

// Takes finds a parameter of the fault by its name.
func (k Kind) Takes(name string) (Param, bool) {
	i := slices.IndexFunc(k.Params, func(p Param) bool { return p.Name == name })
	if i < 0 {
		return Param{}, false
	}
	return k.Params[i], true
}

// ParamNames are the names of the fault's parameters.
func (k Kind) ParamNames() []string {
	return english.Words(k.Params, func(p Param) string { return p.Name })
}

func checkParams(k Kind, s Spec) error {
	for _, p := range []struct {
		name  string
		given bool
		word  string // the given value, of a parameter with a list of allowed ones
	}{
		{"peer", len(s.Peer) > 0, ""}, {"by", s.By != 0, ""}, {"jitter", s.Jitter != 0, ""},
		{"rate", s.Rate != 0, ""}, {"data", s.Data != "", s.Data}, {"direction", s.Direction != "", s.Direction},
		{"to", s.To != "", ""}, {"mode", s.Mode != "", s.Mode},
	} {
		param, takes := k.Takes(p.name)
		switch {
		case p.given && !takes && len(k.Params) == 0:
			return fmt.Errorf("%s takes no %q: it has no parameters", k.Name, p.name)
		case p.given && !takes:
			return fmt.Errorf("%s takes no %q, only: %s", k.Name, p.name, strings.Join(k.ParamNames(), ", "))
		case p.given && len(param.Words) > 0:
			if err := oneOf(p.name, p.word, param.Words...); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkName returns an error unless name is a party of the kind "client", "node",
// or either of the two: "link" or "node or client".
func checkName(name, kind string, t Topology) error {
	names := clientNames(t)
	switch kind {
	case "client":
	case "node":
		names = append(nodeNames(t), primaryName)
	default:
		names = append(names, append(nodeNames(t), primaryName)...)
	}
	if slices.Contains(names, name) {
		return nil
	}
	what := kind
	if kind == "link" {
		what = "client or node"
	}
	return fmt.Errorf("no %s %q here: %s", what, name, allowed(kind, t))
}

// allowed lists the allowed names of a target.
func allowed(kind string, t Topology) string {
	clients := "client-1"
	if t.Clients != 1 {
		clients = fmt.Sprintf("client-1 to client-%d", t.Clients)
	}
	nodes := strings.Join(append(nodeNames(t), primaryName), ", ")
	switch kind {
	case "client":
		return "there is " + clients
	case "node":
		return "there is " + nodes
	}
	return "there is " + clients + ", " + nodes
}

func clientNames(t Topology) []string {
	var names []string
	for c := range t.Clients {
		names = append(names, party.Client(c+1))
	}
	return names
}

// nodeNames lists the servers: the primaries, then their replicas.
func nodeNames(t Topology) []string {
	var names []string
	for g := range t.Groups {
		names = append(names, party.Node(g+1))
	}
	for g := range t.Groups {
		names = append(names, members(t, g+1)[1:]...)
	}
	return names
}

// members lists the servers of one group, the first primary first.
func members(t Topology, group int) []string {
	names := []string{party.Node(group)}
	for r := range t.Replicas {
		names = append(names, party.Replica(names[0], r+1))
	}
	return names
}

// groupOf returns the group of a server; 0 for clients.
func groupOf(name string) int {
	switch {
	case name == primaryName:
		return 1
	case party.IsClient(name):
		return 0
	}
	return party.Number(name)
}

// oneOf checks a parameter against a list of values; "" is the default.
func oneOf(param, value string, words ...string) error {
	if value == "" || slices.Contains(words, value) {
		return nil
	}
	return fmt.Errorf("%s: %q is not one of: %s", param, value, strings.Join(words, ", "))
}

// positive checks a required length of time.
func positive(param string, d Duration, example string) error {
	if d <= 0 {
		return fmt.Errorf("needs %q, a duration greater than 0 such as %q", param, example)
	}
	return nil
}

// checkJitter returns nil, or the mistake in the times of a delay.
func checkJitter(s Spec, example string) error {
	if err := positive("by", s.By, example); err != nil {
		return err
	}
	if s.Jitter < 0 || s.Jitter > s.By {
		return errors.New(`"jitter" must lie between 0 and "by"`)
	}
	return nil
}

// resolve replaces "primary" by the name of the present primary, and removes duplicates.
func resolve(names []string, w World) []string {
	var out []string
	for _, name := range names {
		if name == primaryName {
			name = w.Primary(1)
		}
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
