package scenarios

import (
	"embed"
	"fmt"
	"slices"
	"sync"

	"github.com/holdfast-go/holdfast/internal/english"
)

//go:embed catalogue/*.yaml
var catalogueFiles embed.FS

// catalogueNames is the order of the catalogue. It begins with scenarios without faults,
// crashes and slow holders, pauses and partitions, and lost data. Then come clocks,
// Redlock, lost messages, lost replies, and the end.
var catalogueNames = []string{
	"contention",
	"several-owners",
	"uneven-network",
	"awkward-names",
	"names-in-braces",
	"two-locks",
	"two-held",
	"two-nodes-held",
	"one-of-two-released",
	"herd",
	"reentrancy",
	"inner-release",
	"inner-release-renewed",
	"inner-lease-ends",
	"wait-runs-out",
	"waiter-leaves",
	"explicit-lease-ends",
	"woken-by-message",
	"handed-over-by-message",
	"sixty-four-waiters",
	"holder-crash",
	"crash-between-commands",
	"waiter-crash",
	"dead-waiters",
	"holder-and-waiter-die",
	"last-waiter-dies",
	"newcomer-after-expiry",
	"neighbour-dies",
	"several-permits",
	"downgraded",
	"upgraded",
	"late-take-over",
	"slow-holder",
	"long-hold",
	"tried-beside-the-holder",
	"extended-hold",
	"extended-too-late",
	"careful-user",
	"leader-failover",
	"leader-pause",
	"leader-cut-off",
	"leader-deleted",
	"observed-handovers",
	"observed-cut-and-crash",
	"late-release",
	"check-then-delete",
	"check-then-delete-soon",
	"check-then-renew",
	"renewal-after-release",
	"late-renewal",
	"pause-in-acquire",
	"pause-between-commands",
	"late-token",
	"paused-waiters",
	"holder-pause",
	"partitioned-holder",
	"two-locks-cut",
	"cut-off-waiters",
	"slow-link-then-cut",
	"lagging-link-then-cut",
	"slow-acquire-then-cut",
	"partial-release-then-cut",
	"many-hiccups",
	"stale-grant",
	"slow-grant",
	"slow-grant-reply",
	"outer-lease-ends",
	"kept-away",
	"late-undo",
	"late-own-release",
	"late-beside-another",
	"half-open-release",
	"silent-connection",
	"no-channels",
	"no-right-to-expire",
	"no-memory",
	"refused-acquire",
	"failover-lost-write",
	"failover-one-acked-of-two",
	"isolated-primary",
	"queue-lost-with-primary",
	"unconfirmed-acquire",
	"clock-jump",
	"clock-drift",
	"drift-then-cut",
	"client-clock-behind",
	"client-clock-ahead",
	"client-clock-jumps-while-holding",
	"client-clock-jumps-while-waiting",
	"client-clock-steps-back",
	"redlock-clock-jump",
	"redlock-node-restart",
	"redlock-node-restart-delayed",
	"redlock-slow-replies",
	"member-out-of-reach",
	"member-black-holed",
	"two-cut-at-renewal",
	"majority-cut-at-acquire",
	"majority-cut-at-renewal",
	"lost-member",
	"majority-emptied",
	"minority-emptied",
	"two-cut-at-release",
	"majority-cut-at-release",
	"unanswered-inner-release",
	"unanswered-longer-lease",
	"lost-unlock-message",
	"slow-subscribe",
	"broken-subscribe",
	"woken-after-reset",
	"undone-grant",
	"broken-acquire",
	"broken-second-request",
	"broken-replies",
	"refused-take-back",
	"unheard-grant",
	"lost-acquire-reply",
	"unheard-later-grant",
	"lost-nested-reply",
	"lost-inner-release-reply",
	"lost-release-reply",
	"renewal-hiccup",
	"unheard-renewals",
	"refusals-outlast-lease",
	"down-at-release",
	"cancelled-acquire",
	"cancelled-inner-acquire",
	"asked-again",
	"cancelled-try",
	"cancelled-waiters",
	"cancelled-beside-a-waiter",
	"cancelled-release",
	"script-flush",
	"restart-without-data",
	"restart-then-again",
	"key-deleted",
	"nested-after-delete",
	"nested-after-another",
	"deleted-between-renewals",
	"one-of-two-deleted",
	"stolen-between-renewals",
	"cluster-failover",
	"resharding",
	"fence-rollback",
	"fence-rollback-clock-behind",
	"closed-while-held",
	"shutdown",
	"released-by-shutdown",
	"shutdown-after-loss",
}

// parsed is the parsed catalogue. The files are part of the program, so a parse
// error is a defect and panics.
var parsed = sync.OnceValue(func() map[string]*Scenario {
	all := make(map[string]*Scenario)
	for _, name := range catalogueNames {
		src, err := Source(name)
		if err != nil {
			panic(err)
		}
		s, err := Parse(name+".yaml", src)
		if err != nil {
			panic(err)
		}
		all[name] = s
	}
	return all
})

// Names returns the names of the built-in scenarios, in catalogue order.
func Names() []string { return slices.Clone(catalogueNames) }

// Catalogue returns the built-in scenarios. They are shared: change copies.
func Catalogue() []*Scenario {
	var all []*Scenario
	for _, name := range catalogueNames {
		all = append(all, parsed()[name])
	}
	return all
}

// UnknownScenarioError reports a name that no built-in scenario has.
type UnknownScenarioError struct{ Name string }

func (e *UnknownScenarioError) Error() string {
	return fmt.Sprintf("unknown scenario %q", e.Name)
}

// Hint names the nearest scenarios.
func (e *UnknownScenarioError) Hint() string {
	if near := Nearest(e.Name, catalogueNames); len(near) > 0 {
		return "did you mean " + english.Or(near) + "?"
	}
	return "holdfast list scenarios shows them all; a file of your own needs its extension or a path, such as ./mine.yaml"
}

// Find returns a built-in scenario, or an [UnknownScenarioError].
func Find(name string) (*Scenario, error) {
	if s, ok := parsed()[name]; ok {
		return s, nil
	}
	return nil, &UnknownScenarioError{name}
}

// Source returns the file of a built-in scenario, with its comments, or an
// [UnknownScenarioError].
func Source(name string) ([]byte, error) {
	if !slices.Contains(catalogueNames, name) {
		return nil, &UnknownScenarioError{name}
	}
	return catalogueFiles.ReadFile("catalogue/" + name + ".yaml")
}
