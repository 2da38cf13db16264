package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-go/holdfast/internal/english"
	"github.com/holdfast-go/holdfast/reports/results"
)

// isLive reports whether a run was played in real time, which no command can
// repeat exactly.
func isLive(r *results.Run) bool { return r.World == "live" }

// ownServers is the backend of a run on servers that the user runs. The run does
// not store their addresses.
const ownServers = "own"

// foreignServers is the backend of a run on servers that the lock brings along.
const foreignServers = "foreign"

// Replay is the command that plays a run again, safe to print.
func Replay(r *results.Run) string {
	if r.Test != "" {
		return english.Clean(r.Test)
	}
	cmd := []string{"holdfast", "run", word(cmp.Or(r.File, r.Scenario)), "--lock", word(r.Lock), "--seed", number(r.Seed)}
	if r.World != "" && r.World != "sim" {
		cmd = append(cmd, "--world", word(r.World))
	}
	switch {
	case !isLive(r) || r.Backend == "":
	case r.Backend == ownServers:
		cmd = append(cmd, "--redis", "ADDRESS")
	case r.Backend == foreignServers: // its adapter starts them
	default:
		cmd = append(cmd, "--backend", word(r.Backend))
	}
	for _, a := range r.Adapters {
		cmd = append(cmd, "--adapter", word(a))
	}
	if isLive(r) && r.TimeScale != 0 {
		cmd = append(cmd, "--time-scale", scale(r.TimeScale))
	}
	if r.Server != "" {
		cmd = append(cmd, "--server", word(r.Server))
	}
	if r.User != "" {
		cmd = append(cmd, "--user", word(r.User))
	}
	return strings.Join(cmd, " ")
}

// againWords names that command. In the simulator it gives the same history; in
// real time it only gives another chance.
func againWords(r *results.Run) string {
	if isLive(r) {
		return "play again"
	}
	return "replay"
}

// paceWords describes the time scale and the attempts of a run, as parts of a
// line. It is empty for the defaults.
func paceWords(r *results.Run) []string {
	var parts []string
	if r.TimeScale != 0 && r.TimeScale != 1 {
		parts = append(parts, fmt.Sprintf("time scale %s (a second of the scenario took %s)", scale(r.TimeScale), length(int64(r.TimeScale*1e9))))
	}
	if r.Attempts > 1 {
		parts = append(parts, fmt.Sprintf("attempt %d, the machine was too slow before", r.Attempts))
	}
	return parts
}

func scale(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// madeWords says when and where the results were made.
func madeWords(m *results.Made) string {
	if m == nil {
		return ""
	}
	parts := slices.DeleteFunc([]string{m.Date, m.Build, m.Go, m.Host}, func(s string) bool { return s == "" })
	return english.Clean(strings.Join(parts, " · "))
}

// origin says in a line where a run comes from: its world, seed and sizes.
func origin(r *results.Run) string {
	world := "world " + english.Name(r.World)
	switch r.Backend {
	case "":
	case ownServers:
		world += " on the user's own servers"
	case foreignServers:
		world += " on the lock's own servers"
	default:
		world += " on " + english.Name(r.Backend)
	}
	if r.Server != "" {
		world += " on " + english.Clean(r.Server)
	}
	parts := []string{world, "seed " + number(r.Seed)}
	if r.LockVersion != "" {
		parts = append([]string{english.Clean(r.LockVersion)}, parts...)
	}
	if r.Stats.Ops > 0 {
		parts = append(parts, english.Count(r.Stats.Ops, "operation"))
	}
	if r.Stats.Commands > 0 {
		parts = append(parts, english.Count(r.Stats.Commands, "command"))
	}
	if r.Stats.VirtualMS > 0 {
		parts = append(parts, length(int64(r.Stats.VirtualMS*1e6))+" long")
	}
	return strings.Join(append(parts, paceWords(r)...), ", ")
}
