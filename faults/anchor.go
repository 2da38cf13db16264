package faults

import (
	"cmp"
	"errors"
	"fmt"
	"github.com/holdfast-go/holdfast/internal/english"
	"slices"
	"strings"
	"time"
)

// Moments lists the names of the moments to which a fault can be anchored.
func Moments() []string {
	return []string{Invoked, Granted, Refused, Released, Writing, Received, Executed, Answered, Published, Delivered}
}

// ops are the operations to which a moment can belong.
var ops = []string{"acquire", "release", "inspect", "extend", "background"}

// build returns what injects a fault, if it can strike in a topology.
func build(s Spec, t Topology, seed uint64) (strike func(World) (string, func() error, error), err error) {
	k, ok := Lookup(s.Fault)
	if !ok {
		names := english.Words(Vocabulary(), func(k Kind) string { return k.Name })
		return nil, fmt.Errorf("unknown fault; known are: %s", strings.Join(names, ", "))
	}
	if err := checkAnchor(s, t); err != nil {
		return nil, err
	}
	if err := k.Available(s, t); err != nil {
		return nil, err
	}
	return func(w World) (string, func() error, error) { return k.Strike(w, s, t, seed) }, nil
}

func checkAnchor(s Spec, t Topology) error {
	switch {
	case s.At == nil && s.On == nil:
		return errors.New(`needs "at", a time such as "3s", or "on", a moment`)
	case s.At != nil && s.On != nil:
		return errors.New(`takes either "at" or "on", not both`)
	case s.At != nil && *s.At < 0:
		return errors.New(`"at" must not be negative`)
	}
	return cmp.Or(checkMoment("until", s.Until, t), checkMoment("on", s.On, t))
}

// checkMoment returns nil, or the mistake in an anchor, the value of a key that may be left out.
func checkMoment(key string, a *Anchor, t Topology) error {
	if a == nil {
		return nil
	}
	if !slices.Contains(Moments(), a.Moment) {
		return fmt.Errorf("%s: %q is not a moment: one of %s", key, a.Moment, strings.Join(Moments(), ", "))
	}
	if a.Nth < 0 {
		return fmt.Errorf(`%s: "nth" counts from 1`, key)
	}
	if a.Client != "" {
		if err := checkName(a.Client, "client", t); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	if a.Node != "" && !slices.Contains(nodeNames(t), a.Node) {
		return fmt.Errorf("%s: no node %q here: there is %s", key, a.Node, strings.Join(nodeNames(t), ", "))
	}
	if a.Op != "" {
		return oneOf(key+": op", a.Op, ops...)
	}
	return nil
}

// OfRequest reports whether the moment belongs to one request.
func (a *Anchor) OfRequest() bool {
	return a.Moment == Received || a.Moment == Executed || a.Moment == Answered
}

// OnLink reports whether the moment belongs to a message between a client and a
// server: a request, its reply, or a pub/sub message.
func (a *Anchor) OnLink() bool {
	return a.OfRequest() || a.Moment == Published || a.Moment == Delivered
}

// ToClient reports whether the moment belongs to a message from a server that the
// client has not read.
func (a *Anchor) ToClient() bool {
	return a.Moment == Answered || a.Moment == Published || a.Moment == Delivered
}

// Anchor returns the anchor that selects only m, among m and the moments before it.
func (m Moment) Anchor(before []Moment) Anchor {
	a := Anchor{Moment: m.Name, Client: m.Client, Node: m.Node, Command: m.Command, Nth: 1}
	if a.OfRequest() || m.Name == Invoked { // the others imply their operation, or have none
		a.Op = m.Op
	}
	for _, earlier := range before {
		if a.matches(earlier) {
			a.Nth++
		}
	}
	return a
}

func (a *Anchor) matches(m Moment) bool {
	return a.Moment == m.Name &&
		(a.Client == "" || a.Client == m.Client) &&
		(a.Node == "" || a.Node == m.Node) &&
		(a.Op == "" || a.Op == m.Op) &&
		(a.Command == "" || strings.EqualFold(a.Command, m.Command)) &&
		(!a.Changed || m.Changed)
}

// When describes the time and duration of a fault, such as "after the 2nd grant of
// client-1, for 15s".
func (s Spec) When() string {
	var text string
	switch {
	case s.At != nil:
		text = "at " + (*s.At + s.After).String()
	case s.On == nil:
		return ""
	case s.After > 0:
		text = s.After.String() + " after the moment " + s.On.words()
		if rest, ok := strings.CutPrefix(s.On.words(), "after "); ok {
			text = s.After.String() + " after " + rest
		}
	default:
		text = s.On.words()
	}
	switch {
	case s.For > 0:
		text += ", for " + time.Duration(s.For).String()
	case s.Until != nil:
		end := s.Until.words()
		if rest, ok := strings.CutPrefix(end, "after "); ok {
			end = rest
		} else {
			end = "the moment " + end
		}
		text += ", until " + end
	}
	return text
}

// words describes a moment: "after the 2nd grant of client-1", "between execution
// and reply of client-1's release".
func (a *Anchor) words() string {
	nth := max(1, a.Nth)
	switch a.Moment {
	case Granted:
		return "after the " + ordinal(nth) + " grant" + of(a.Client)
	case Refused:
		return "after the " + ordinal(nth) + " refusal" + of(a.Client)
	case Released:
		return "after the " + ordinal(nth) + " release" + of(a.Client)
	case Writing:
		return "before the " + ordinal(nth) + " write" + of(a.Client)
	case Invoked:
		return "before the " + ordinal(nth) + " " + cmp.Or(a.Op, "operation") + of(a.Client)
	case Received:
		return "between arrival and execution of " + a.request(nth)
	case Answered:
		return "when the reply reaches the client, of " + a.request(nth)
	case Published:
		return "before the " + ordinal(nth) + " message leaves" + with("from", a.Node) + with("for", a.Client)
	case Delivered:
		return "when the " + ordinal(nth) + " message" + with("from", a.Node) + " arrives" + with("at", a.Client)
	}
	return "between execution and reply of " + a.request(nth)
}

// request describes a request at a server: "client-1's release", "the 2nd EVALSHA
// of client-1's acquire at node-1 that changed the lock".
func (a *Anchor) request(nth int) string {
	op := a.Op
	switch {
	case op == "background":
		op = "background request"
	case op == "" && a.Command == "":
		op = "request"
	}
	what := op
	if a.Command != "" {
		what = a.Command
		if op != "" {
			what += " in " + op
		}
	}
	var text string
	switch {
	case a.Client != "" && nth > 1:
		text = client(a.Client) + ordinal(nth) + " " + what
	case a.Client != "":
		text = client(a.Client) + what
	default:
		text = "the " + ordinal(nth) + " " + what
	}
	if a.Node != "" {
		text += " at " + a.Node
	}
	if a.Changed {
		text += " that changed the lock"
	}
	return text
}

func client(name string) string { return name + "'s " }

func of(client string) string { return with("of", client) }

// with is a name after a word, or nothing for an empty name.
func with(word, name string) string {
	if name == "" {
		return ""
	}
	return " " + word + " " + name
}

func ordinal(n int) string {
	if n == 1 {
		return "first"
	}
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprintf("%d%s", n, suffix)
}
