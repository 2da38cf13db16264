package history

import (
	"strings"

	"github.com/holdfast-go/holdfast/internal/input"
)

// Validate checks a history before a judge reads it, so that a wrong recording
// never looks like a wrong lock. Its error is an [*InvalidError].
func (h *History) Validate() error {
	v, err := newValidator(&h.Header)
	if err != nil {
		return err
	}
	for i := range h.Events {
		if err := v.addEvent(&h.Events[i]); err != nil {
			return err
		}
	}
	return v.checkEnd()
}

// validator is the state of [History.Validate] between two events.
type validator struct {
	owners  map[string]*validOwner
	used    map[int64]bool  // operation ids ever invoked
	crashed map[string]bool // clients
	planned map[int]bool    // ids of the header's faults
	events  int
	last    int64 // time of the latest event
	kind    Kind  // of the latest event
}

// validOwner is the validator's state of an owner.
type validOwner struct {
	client string
	open   *Event // the invocation of its open operation, nil without one
}

func newValidator(h *Header) (*validator, error) {
	if reason := validateHeader(h); reason != "" {
		return nil, &InvalidError{Line: 1, Reason: reason}
	}
	planned := map[int]bool{}
	for _, f := range h.Faults {
		planned[f.ID] = true
	}
	return &validator{planned: planned, owners: map[string]*validOwner{}, used: map[int64]bool{}, crashed: map[string]bool{}}, nil
}

func (v *validator) invalidf(format string, args ...any) error {
	return &InvalidError{Line: v.events + 1, Event: v.events, Reason: input.Sprintf(format, args...)}
}

func (v *validator) checkEnd() error {
	switch {
	case v.events == 0:
		return &InvalidError{Line: 2, Event: 1, Reason: input.Sprintf("the history has no events; it must at least have the %q event", End)}
	case v.kind != End:
		return v.invalidf("the last event is of kind %q, not %q", v.kind, End)
	}
	return nil
}

func (v *validator) addEvent(e *Event) error {
	if v.kind == End {
		return v.invalidf("something follows the %q event", End)
	}
	v.events++
	if e.Time < 0 {
		return v.invalidf("time %d is negative", e.Time)
	}
	if e.Time > LongestTime {
		return v.invalidf("time %d is more than 18 years", e.Time)
	}
	if e.Time < v.last {
		return v.invalidf("time goes back from %d to %d", v.last, e.Time)
	}
	v.last, v.kind = e.Time, e.Kind
	if reason := validateShape(e); reason != "" {
		return v.invalidf("%s", reason)
	}
	var owner *validOwner
	switch e.Kind {
	case Invoke, OK, Fail, Info, Note:
		if v.crashed[e.Client] {
			return v.invalidf("%s crashed before this event", e.Client)
		}
		if e.Owner == "" {
			break
		}
		if owner = v.owners[e.Owner]; owner == nil {
			owner = &validOwner{client: e.Client}
			v.owners[e.Owner] = owner
		}
		if owner.client != e.Client {
			return v.invalidf("owner %s belongs to %s, not to %s", e.Owner, owner.client, e.Client)
		}
	}
	switch e.Kind {
	case Invoke:
		if v.used[e.Op] {
			return v.invalidf("operation %d is invoked twice", e.Op)
		}
		if owner.open != nil {
			return v.invalidf("%s invokes operation %d while its operation %d is open", e.Owner, e.Op, owner.open.Op)
		}
		v.used[e.Op] = true
		owner.open = e
	case OK, Fail, Info:
		if err := v.checkReturn(e, owner.open); err != nil {
			return err
		}
		owner.open = nil
	case Fault:
		if e.Fault.Phase == PhaseStart && !v.planned[e.Fault.ID] {
			return v.invalidf("fault %d (%q) is not among the header's faults, which say what it can do", e.Fault.ID, e.Fault.Name)
		}
	case Note:
		if e.F == Crashed {
			v.crashed[e.Client] = true
		}
	}
	return nil
}

// checkReturn checks the return of an operation. inv is the open operation of its
// owner, or nil.
func (v *validator) checkReturn(e, inv *Event) error {
	if inv == nil || inv.Op != e.Op {
		inv = v.openOp(e.Op)
	}
	switch {
	case inv == nil && v.used[e.Op]:
		return v.invalidf("operation %d returns twice", e.Op)
	case inv == nil:
		return v.invalidf("operation %d returns before it is invoked", e.Op)
	case inv.F != e.F:
		return v.invalidf("operation %d was invoked as %s and returns as %s", e.Op, inv.F, e.F)
	case inv.Owner != e.Owner:
		return v.invalidf("operation %d was invoked by %s and returns to %s", e.Op, inv.Owner, e.Owner)
	case inv.Client != e.Client:
		return v.invalidf("operation %d was invoked by %s and returns to %s", e.Op, inv.Client, e.Client)
	case inv.Lock != e.Lock:
		return v.invalidf("operation %d was invoked on lock %q and returns on %q", e.Op, inv.Lock, e.Lock)
	}
	return nil
}

func (v *validator) openOp(op int64) *Event {
	for _, owner := range v.owners {
		if owner.open != nil && owner.open.Op == op {
			return owner.open
		}
	}
	return nil
}

// largestTimeScale bounds the time scale of a header, far beyond any run.
const largestTimeScale = 10

// LongestTime bounds every time and duration of a history in nanoseconds, so that sums
// never overflow.
const LongestTime int64 = 1 << 59

func validateHeader(h *Header) string {
	c := &h.Claims
	switch {
	case h.Format != Format:
		return input.Sprintf("format is %q, not %q", h.Format, Format)
	case c.Conflict() != "":
		return c.Conflict()
	case c.RenewEvery < 0 || c.Handoff < 0 || c.Quorum < 0 || c.Nodes < 0 || h.MinGrants < 0 || h.Latency < 0:
		return "a number in the header is negative"
	case h.User != "" && h.User != Careful && h.User != Careless:
		return input.Sprintf("%q is not a kind of user", h.User)
	case h.TimeScale < 0 || h.TimeScale > largestTimeScale:
		return input.Sprintf("time_scale is %v; it must be above 0 and at most %d", h.TimeScale, largestTimeScale)
	case c.RenewEvery > LongestTime || c.Handoff > LongestTime || h.Latency > LongestTime:
		return "a duration in the header is more than 18 years"
	case c.Quorum > max(c.Nodes, 1):
		return input.Sprintf("a quorum of %d is impossible on %d nodes", c.Quorum, max(c.Nodes, 1))
	}
	ids := map[int]bool{}
	for _, f := range h.Faults {
		if ids[f.ID] {
			return input.Sprintf("two planned faults have the id %d", f.ID)
		}
		ids[f.ID] = true
		if !f.Traits.Known() {
			return input.Sprintf("fault %d (%q) has no traits, or both instant and lasts: they say what a judge may excuse; docs/history.md lists them", f.ID, f.Fault)
		}
	}
	return ""
}

func validateShape(e *Event) string {
	if a := e.Args; a != nil && a.Mode != "" && a.Mode != Shared {
		return input.Sprintf("%q is not a mode", a.Mode)
	}
	if a := e.Args; a != nil && a.Self != "" && a.Self == e.Owner {
		return input.Sprintf("%q is its own other name", a.Self)
	}
	if a := e.Args; a != nil && (a.Permits < 0 || a.Permits > mostPermits) {
		return input.Sprintf("%d is no number of permits", a.Permits)
	}
	if a := e.Args; a != nil && (a.Lease < 0 || a.Wait < -1) {
		return "a duration of the arguments is negative"
	}
	if a := e.Args; a != nil && (a.Lease > LongestTime || a.Wait > LongestTime) {
		return "a duration of the arguments is more than 18 years"
	}
	if r := e.Result; r != nil && r.Count < 0 {
		return "the count of the result is negative"
	}
	if r := e.Result; r != nil && (r.Until < 0 || r.Until > LongestTime) {
		return "the validity of the result ends before the run, or more than 18 years after its start"
	}
	if r := e.Result; r != nil && (r.Since < 0 || r.Since > e.Time) {
		return "the close began before the run, or after its own note"
	}
	switch e.Kind {
	case Invoke, OK, Fail, Info:
		return validateOp(e)
	case Note:
		switch {
		case e.F != Lost && e.F != Stopped && e.F != Crashed && e.F != Closed && e.F != Panic:
			return input.Sprintf("%q is not a note", e.F)
		case e.Client == "":
			return "the note names no client"
		}
	case Fault:
		switch {
		case e.Fault == nil:
			return "the event has no \"fault\""
		case e.Fault.Phase != PhaseStart && e.Fault.Phase != PhaseEnd && e.Fault.Phase != PhaseFailed:
			return input.Sprintf("%q is not a phase of a fault", e.Fault.Phase)
		}
	case Server:
		return validateServer(e.Server)
	case Log:
		switch {
		case e.Log == nil:
			return "the event has no \"log\""
		case e.Log.Server == "" || e.Log.Text == "":
			return "the line of a log names no server or has no text"
		case strings.ContainsAny(e.Log.Text, "\r\n"):
			return "the line of a log is more than one line"
		}
	case End:
		switch {
		case e.End == nil:
			return "the event has no \"end\""
		case e.End.Subscriptions < 0 || e.End.Connections < 0:
			return "what remained is counted with a negative number"
		}
	default:
		return input.Sprintf("%q is not a kind of event", e.Kind)
	}
	return ""
}

func validateOp(e *Event) string {
	switch e.F {
	case Acquire, Release, Inspect, Extend, Observe:
		if e.Lock == "" {
			return "the operation names no lock"
		}
	case Read, Write:
	default:
		return input.Sprintf("%q is not an operation", e.F)
	}
	switch {
	case e.Op <= 0:
		return "the operation has no id"
	case e.Client == "" || e.Owner == "":
		return "the operation names no client or no owner"
	case e.Kind == Invoke && e.Args == nil && (e.F == Acquire || e.F == Extend || e.F == Write):
		return "the invocation has no \"args\""
	case e.Kind == Invoke && e.F == Extend && e.Args.Lease == 0:
		return "the extension names no lease"
	case e.Kind == OK && e.Result == nil && e.F != Release && e.F != Inspect && e.F != Extend:
		return "the return has no \"result\""
	case (e.Kind == Fail || e.Kind == Info) && e.Result == nil:
		return "the return has no \"result\""
	}
	return ""
}

func validateServer(s *ServerEvent) string {
	if s == nil {
		return "the event has no \"server\""
	}
	switch s.Cause {
	case "command", "expiry", "replication", "fault", "restart", "migration":
	default:
		return input.Sprintf("%q is not a cause of a change", s.Cause)
	}
	switch {
	case s.Node == "" || s.Key == "":
		return "the change names no node or no key"
	case s.Role != "primary" && s.Role != "replica":
		return input.Sprintf("%q is not a role of a server", s.Role)
	case s.Count < 0 || s.WasCount < 0:
		return "a hold count is negative"
	case s.TTL < -1 || s.WasTTL < -1:
		return "a TTL is below -1"
	case s.TTL > LongestTime || s.WasTTL > LongestTime:
		return "a TTL is more than 18 years"
	}
	return ""
}
