package checker

import "github.com/holdfast-go/holdfast/checker/history"

// Property is the name of a promise.
type Property string

// PropertyInfo describes a property for people.
type PropertyInfo struct {
	Name    Property
	Promise string // one sentence
	// Broken says what a violation is, for a title: "two owners hold the lock at once".
	Broken string
	// Classes are the classes of its violations, if it has any.
	Classes []string
}

// property is a promise and its judge. Each is declared in its own file.
type property struct {
	PropertyInfo
	claimed func(*history.Header) bool // nil: every lock promises it
	harm    func(map[Property]Verdict) Harm
	judge   func(*trace, Options) (Verdict, error)
}

var properties = []property{
	exclusionProperty,
	linearizableProperty,
	resourceProperty,
	fencingProperty,
	ownershipProperty,
	countProperty,
	leaseProperty,
	renewalProperty,
	progressProperty,
	fairnessProperty,
	errorsProperty,
	observationProperty,
	cleanupProperty,
}

// Properties lists the properties in the order of reports.
func Properties() []PropertyInfo {
	infos := make([]PropertyInfo, len(properties))
	for i, p := range properties {
		infos[i] = p.PropertyInfo
	}
	return infos
}

// plainly makes a judge of one that needs no options and has no error.
func plainly(judge func(*trace) Verdict) func(*trace, Options) (Verdict, error) {
	return func(t *trace, _ Options) (Verdict, error) { return judge(t), nil }
}

// byServerLog makes a judge of one that sees everything in the server log.
func byServerLog(judge func(*trace) Verdict) func(*trace, Options) (Verdict, error) {
	return plainly(func(t *trace) Verdict {
		switch {
		case len(t.changes) > 0:
			return byServers(judge(t))
		case len(t.beliefs) > 0:
			return Verdict{Outcome: Unknown, Reason: noServerLog}
		}
		return judge(t)
	})
}
