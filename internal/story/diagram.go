package story

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/holdfast-go/holdfast/checker"
	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/internal/party"
	"github.com/holdfast-go/holdfast/reports/results"
)

// The measures of a diagram, in characters and in lines.
const (
	labelColumns = 18 // of a lane's label, if an owner's name has no more
	mostColumns  = 23
	timeColumns  = 80
	lineColumns  = labelColumns + timeColumns
	columnsApart = 3.0 // least distance of two instants
	columnsBreak = 6.0 // width of a break

	mostSteps   = 7
	stepsAfter  = 2 // the moment
	mostOwners  = 5
	mostServers = 5
	mostStrikes = 2
)

// Diagram draws a violation in characters. The faults, owners and servers that it is
// about have lanes, which show the moment at which it began. The steps around that are
// below. It has at most 30 lines of at most 103 characters. It is "" if no operation
// proves the violation.
func Diagram(h *history.History, r *results.Run, violated checker.Property) string {
	v := r.Verdicts[violated]
	d := &diagram{f: NewFacts(h), moment: int64(v.AtMS*1e6 + 0.5), used: map[byte]bool{}}
	for _, id := range v.Ops {
		if op := d.f.Ops[id]; op != nil {
			d.ops = append(d.ops, op)
		}
	}
	if v.Outcome != checker.Violated || len(d.ops) == 0 {
		return ""
	}
	d.choose(tellAll(d.f, r), string(violated))
	d.chooseOwners()
	d.chooseServers()
	d.label = labelColumns
	for _, l := range d.owners {
		d.label = min(max(d.label, utf8.RuneCountInString(d.f.NameOf(l.client, l.owner))+1), mostColumns)
	}
	d.makeAxis()
	mark := english.Clean(string(violated)) + " violated"
	at := d.x(d.moment)
	if mark = "v " + mark; at+len(mark) > timeColumns {
		mark = mark[2:] + " v"
		at -= len(mark) - 1
	}
	fmt.Fprintf(&d.out, "%*s%s\n", d.label+at, "", mark)
	d.drawStrikes()
	d.drawOwners()
	d.drawServers()
	d.drawAxis()
	d.write()
	return d.out.String()
}

// diagram is a violation as [Diagram] draws it.
type diagram struct {
	f       *Facts
	moment  int64
	label   int          // the width of labels
	ops     []*Operation // that prove it
	steps   []Sentence
	strikes []*history.Strike
	owners  []ownerLane
	servers []serverLane
	axis    *Axis
	used    map[byte]bool // the marks in the lanes
	out     bytes.Buffer
}

type (
	ownerLane  struct{ client, owner string }
	serverLane struct{ node, key string }
)

// event finds the event of a step, nil for a step without one.
func (d *diagram) event(s Sentence) *history.Event {
	if s.line < 0 || s.line >= len(d.f.History.Events) {
		return nil
	}
	return &d.f.History.Events[s.line]
}

// now reports whether the violation began at an instant. Verdicts have it in floating
// milliseconds.
func (d *diagram) now(at int64) bool { return max(at, d.moment)-min(at, d.moment) < 1e3 }

// choose chooses the steps around the moment. If the story tells nothing of it, what a
// server did then is a step, or else that a property is violated.
func (d *diagram) choose(all []Sentence, violated string) {
	all = inChorus(slices.DeleteFunc(all, func(s Sentence) bool { return s.weight == smallTalk }))
	center := -1
	for i, s := range all {
		if s.At <= d.moment || d.now(s.At) {
			center = i
		}
	}
	if center < 0 || !d.now(all[center].At) {
		center++
		all = slices.Insert(all, center, d.untold(violated))
	}
	d.steps = gist(all[:min(center+1+stepsAfter, len(all))], center, mostSteps)
	for _, x := range d.f.Faults {
		told := slices.ContainsFunc(d.steps, func(s Sentence) bool { return s.Fault && (s.At == x.From || s.At == x.To) })
		if told && !x.Failed() && len(d.strikes) < mostStrikes {
			d.strikes = append(d.strikes, x)
		}
	}
}

// untold is a step for a moment that no story tells.
func (d *diagram) untold(violated string) Sentence {
	t := newTeller(d.f, nil)
	for i := d.f.Index(d.moment - 1e3); i < len(d.f.History.Events) && d.now(d.f.History.Events[i].Time); i++ {
		if e := &d.f.History.Events[i]; e.Server != nil && e.Server.Role != "replica" {
			t.stores(e)
		}
	}
	if len(t.out) > 0 {
		return t.out[0]
	}
	return Sentence{At: d.moment, Text: "From here on, " + english.Clean(violated) + " is violated.", line: -1}
}

// chooseOwners chooses the owners of the proof, and then those that the steps are about.
func (d *diagram) chooseOwners() {
	add := func(client, owner string) {
		if all := d.f.OwnersOf[client]; owner == "" && len(all) == 1 {
			owner = all[0]
		}
		if l := (ownerLane{client, owner}); owner != "" && client != "" && len(d.owners) < mostOwners && !slices.Contains(d.owners, l) {
			d.owners = append(d.owners, l)
		}
	}
	for _, op := range d.ops {
		add(op.Invoke.Client, op.Invoke.Owner)
	}
	for _, s := range d.steps {
		if e := d.event(s); e != nil {
			add(e.Client, e.Owner)
			if e.Server != nil {
				add(d.f.ClientOf[e.Server.WasHolder], e.Server.WasHolder)
				add(e.Server.By, "")
			}
			if e.Fault != nil {
				for _, t := range e.Fault.Targets {
					add(t, "")
				}
			}
		}
	}
	slices.SortFunc(d.owners, func(a, b ownerLane) int { return Natural(a.owner, b.owner) })
}

// chooseServers chooses servers that were a primary and had the lock. Those of the steps
// come first.
func (d *diagram) chooseServers() {
	var first, then []serverLane
	for i := range d.f.History.Events {
		e := &d.f.History.Events[i]
		s := e.Server
		if s == nil || !slices.ContainsFunc(d.f.Roles[s.Node], func(r Role) bool { return r.Primary }) {
			continue
		}
		l := serverLane{s.Node, s.Key}
		if told := slices.ContainsFunc(d.steps, func(t Sentence) bool { return t.line == i }); told {
			first = append(first, l)
		}
		if s.Holder != "" && d.shows(s.Holder) {
			then = append(then, l)
		}
	}
	for _, l := range append(first, then...) {
		if !slices.Contains(d.servers, l) && len(d.servers) < mostServers {
			d.servers = append(d.servers, l)
		}
	}
	slices.SortFunc(d.servers, func(a, b serverLane) int { return cmp.Or(Natural(a.node, b.node), cmp.Compare(a.key, b.key)) })
}

func (d *diagram) shows(owner string) bool {
	return slices.ContainsFunc(d.owners, func(l ownerLane) bool { return l.owner == owner })
}

// makeAxis makes an axis that reaches the steps, the proof, and the holds at the moment.
func (d *diagram) makeAxis() {
	at := []int64{d.moment}
	for _, s := range d.steps {
		at = append(at, s.At)
	}
	for _, op := range d.ops {
		at = append(at, op.Invoke.Time)
		if op.Done != nil {
			at = append(at, op.Done.Time)
		}
	}
	for _, b := range d.f.Beliefs {
		if d.shows(b.Owner) && b.From <= d.moment && b.To >= d.moment {
			at = append(at, b.From)
		}
	}
	d.axis = NewAxis(at, 0, timeColumns-4, timeColumns, columnsApart, columnsBreak, func(from, to int64) bool {
		return slices.ContainsFunc(d.f.Overlaps, func(o checker.Overlap) bool { return d.now(o.From) && from < o.To && to > o.From })
	})
}

// x is the column of an instant.
func (d *diagram) x(at int64) int { return min(int(d.axis.Pos(at)+1e-6), timeColumns-1) }

// row is a lane as it is drawn.
type row []byte

func newRow() row { return bytes.Repeat([]byte{' '}, timeColumns) }

// fill draws a mark from one instant to another, at least once.
func (d *diagram) fill(r row, from, to int64, mark byte) (columns row) {
	if to < d.axis.At[0] || from > d.axis.At[len(d.axis.At)-1] {
		return nil
	}
	x1, x2 := d.x(from), d.x(to)
	if to > d.axis.At[len(d.axis.At)-1] {
		x2 = timeColumns
	}
	columns = r[x1:max(x2, x1+1)]
	for i := range columns {
		columns[i] = mark
	}
	d.used[mark] = true
	return columns
}

// print prints a lane, with the moment of the violation where nothing else is.
func (d *diagram) print(label string, r row) {
	if x := d.x(d.moment); r[x] == ' ' {
		r[x] = '!'
	}
	fmt.Fprintf(&d.out, "%s%s\n", d.padded(label), bytes.TrimRight(r, " "))
}

func (d *diagram) padded(label string) string {
	label = english.Short(label, d.label-1)
	return label + strings.Repeat(" ", d.label-utf8.RuneCountInString(label))
}

func (d *diagram) drawStrikes() {
	for _, x := range d.strikes {
		r := newRow()
		d.fill(r, x.From, x.To, '/')
		d.print(english.Name(x.Name), r)
	}
}

func (d *diagram) drawOwners() {
	for _, l := range d.owners {
		r := newRow()
		for _, e := range d.f.History.Events {
			if e.Kind != history.Invoke || e.F != history.Acquire || e.Owner != l.owner {
				continue
			}
			to := d.f.End
			if op := d.f.Ops[e.Op]; op.Done != nil {
				to = op.Done.Time
			}
			d.fill(r, e.Time, to, '.')
		}
		for _, b := range d.f.Beliefs {
			if b.Owner == l.owner {
				d.fill(r, b.From, b.To, '=')
			}
		}
		for _, o := range d.f.Overlaps {
			if o.A.Owner == l.owner && d.shows(o.B.Owner) || o.B.Owner == l.owner && d.shows(o.A.Owner) {
				d.fill(r, o.From, o.To, '#')
			}
		}
		for _, p := range d.f.Pauses(l.client) {
			d.fill(r, p.From, p.To, '~')
		}
		for _, e := range d.f.History.Events {
			if e.Kind == history.Note && e.F == history.Crashed && e.Client == l.client {
				d.fill(r, e.Time, d.f.End, 'x')
			}
		}
		d.print(d.f.NameOf(l.client, l.owner), r)
	}
}

func (d *diagram) drawServers() {
	for _, l := range d.servers {
		r := newRow()
		var holders []string
		since := int64(0)
		var touched []int64
		draw := func(to int64) {
			bar := row(nil)
			if len(holders) > 0 {
				bar = d.fill(r, since, to, '-')
			}
			for _, at := range touched {
				d.fill(r, at, at, '+')
			}
			who, short := d.f.Holders(holders)
			if len(who) >= len(bar) {
				who = short
			}
			if len(who) <= len(bar) && slices.IndexFunc(holders, party.IsClient) == 0 {
				copy(bar, who)
			}
			touched = nil
		}
		for _, e := range d.f.History.Events {
			s := e.Server
			switch {
			case s == nil || s.Node != l.node || s.Key != l.key:
			case !slices.Contains(holders, s.Holder):
				draw(e.Time)
				holders, since = HoldersAfter(d.f.History.Header.Claims.Claims, holders, s), e.Time
			case s.Cause == "command":
				touched = append(touched, e.Time)
			}
		}
		draw(d.f.End)
		for _, x := range d.f.Downs(l.node) {
			d.fill(r, x.From, x.To, 'x')
		}
		label := english.Name(l.node)
		if slices.ContainsFunc(d.servers, func(o serverLane) bool { return o.node == l.node && o.key != l.key }) {
			label += " " + english.Name(l.key)
		}
		d.print(label, r)
	}
}

// drawAxis draws the axis with a letter for the instant of each step, and explains the
// marks in use.
func (d *diagram) drawAxis() {
	r := row(bytes.Repeat([]byte{'_'}, timeColumns))
	for _, b := range d.axis.Breaks() {
		copy(r[int(b[0]+b[1])/2:], "//")
	}
	letter := byte('a' - 1)
	for i, s := range d.steps {
		if i == 0 || s.At != d.steps[i-1].At {
			letter++
		}
		r[d.x(s.At)] = letter
	}
	fmt.Fprintf(&d.out, "%s%s\n", d.padded(""), r)
	var marks []string
	for _, m := range []struct {
		mark byte
		says string
	}{{'/', "fault"}, {'.', "waits"}, {'=', "holds"}, {'#', "too many hold it"}, {'~', "paused"}, {'-', "holder on a server"}, {'+', "command"}, {'x', "down"}} {
		if d.used[m.mark] {
			marks = append(marks, string(m.mark)+" "+m.says)
		}
	}
	fmt.Fprintf(&d.out, "%s%s\n", d.padded(""), strings.Join(marks, "  "))
}

// write writes the steps, two lines for each at most.
func (d *diagram) write() {
	letter := 'a' - 1
	for i, s := range d.steps {
		head, flag := "", " "
		if i == 0 || s.At != d.steps[i-1].At {
			letter++
			head = string(letter) + fmt.Sprintf("%12s", history.At(s.At))
		}
		if d.now(s.At) {
			flag = "!"
		}
		text := s.Text
		if e := d.event(s); e != nil {
			text += d.request(e)
		}
		line := fmt.Sprintf("%s %-13s  ", flag, head)
		for i, part := range wrapped(text, lineColumns-len(line), 2) {
			if i > 0 {
				line = strings.Repeat(" ", len(line))
			}
			d.out.WriteString(line + part + "\n")
		}
	}
}

// request names the operation that returned with an event, and what it made servers do.
func (d *diagram) request(e *history.Event) string {
	op := d.f.Ops[e.Op]
	if op == nil || op.Done != e {
		return ""
	}
	var nodes []string
	commands := map[string][]string{}
	for i := d.f.Index(op.Invoke.Time); i < len(d.f.History.Events) && d.f.History.Events[i].Time <= e.Time; i++ {
		s := d.f.History.Events[i].Server
		if s == nil || s.Cause != "command" || s.By != e.Client || s.Role == "replica" {
			continue
		}
		if commands[s.Node] == nil {
			nodes = append(nodes, s.Node)
		}
		if c := english.Clean(s.Command); !slices.Contains(commands[s.Node], c) {
			commands[s.Node] = append(commands[s.Node], c)
		}
	}
	switch len(nodes) {
	case 0:
		return fmt.Sprintf(" [op %d]", e.Op)
	case 1:
		return fmt.Sprintf(" [op %d: %s at %s]", e.Op, english.And(commands[nodes[0]]), english.Name(nodes[0]))
	}
	return fmt.Sprintf(" [op %d: %s at %s]", e.Op, english.And(commands[nodes[0]]), english.Count(len(nodes), "server"))
}

// wrapped breaks text at spaces into lines of some width, and cuts what does not fit.
func wrapped(text string, width, most int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines = append(lines, line)
			line = ""
		}
		line = english.Short(strings.TrimLeft(line+" "+word, " "), width)
	}
	if lines = append(lines, line); len(lines) > most {
		lines = lines[:most]
		lines[most-1] = english.Short(lines[most-1]+strings.Repeat(" ", width), width)
	}
	return lines
}
