package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/history"
)

// inWords is an event of a history in a line, without its time.
func inWords(e history.Event) string {
	switch e.Kind {
	case history.Invoke:
		return fmt.Sprintf("%s calls %s%s", e.Owner, opName(e), argsInWords(e.Args))
	case history.OK:
		return fmt.Sprintf("%s: %s returned%s", e.Owner, opName(e), resultInWords(e))
	case history.Fail:
		return fmt.Sprintf("%s: %s failed: %s", e.Owner, opName(e), errorInWords(e.Result))
	case history.Info:
		return fmt.Sprintf("%s: nobody knows whether %s happened: %s", e.Owner, opName(e), errorInWords(e.Result))
	case history.Note:
		return noteInWords(e)
	case history.Fault:
		return faultInWords(e.Fault)
	case history.Server:
		return serverInWords(e.Server)
	case history.Log:
		return e.Log.Server + " says: " + e.Log.Text
	}
	return "the run is over"
}

func opName(e history.Event) string { return fmt.Sprintf("%s (op %d)", e.F, e.Op) }

func argsInWords(a *history.Args) string {
	var all []string
	if a == nil {
		return ""
	}
	if a.Base != 0 || a.Value != 0 {
		all = append(all, fmt.Sprintf("value %d", a.Value))
	}
	if a.Token != 0 {
		all = append(all, fmt.Sprintf("token %d", a.Token))
	}
	if a.Lease > 0 {
		lease := "lease " + time.Duration(a.Lease).String()
		if a.Renewed {
			lease += ", renewed"
		}
		all = append(all, lease)
	}
	if a.Wait > 0 {
		all = append(all, "waits up to "+time.Duration(a.Wait).String())
	}
	if len(all) == 0 {
		return ""
	}
	return ": " + strings.Join(all, ", ")
}

func resultInWords(e history.Event) string {
	if e.Result == nil {
		return ""
	}
	text := ""
	switch e.F {
	case history.Acquire, history.Release, history.Inspect:
		text = fmt.Sprintf(": it holds %s %s", e.Lock, times(e.Result.Count))
	case history.Read:
		text = fmt.Sprintf(": it read %d", e.Result.Value)
	case history.Write:
		text = fmt.Sprintf(": it replaced %d", e.Result.Value)
	}
	if e.Result.Token != 0 {
		text += fmt.Sprintf(", token %d", e.Result.Token)
	}
	return text
}

func times(n int) string {
	switch n {
	case 0:
		return "no more"
	case 1:
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func errorInWords(r *history.Result) string {
	if r == nil {
		return "no reason given"
	}
	first, _, _ := strings.Cut(r.Message, "\n")
	return fmt.Sprintf("%s (%s)", r.Error, first)
}

func noteInWords(e history.Event) string {
	switch e.F {
	case history.Lost:
		return fmt.Sprintf("%s learns that its hold of %s is lost", e.Owner, e.Lock)
	case history.Crashed:
		return e.Client + " has crashed"
	case history.Closed:
		return e.Client + " has closed its lock handle"
	}
	return fmt.Sprintf("%s: %s", e.Client, e.F)
}

// faultName is a fault with its number, "failover (fault 2)".
func faultName(f *history.FaultEvent) string { return fmt.Sprintf("%s (fault %d)", f.Name, f.ID) }

func faultInWords(f *history.FaultEvent) string {
	what := map[string]string{history.PhaseStart: "strikes", history.PhaseEnd: "ends", history.PhaseFailed: "failed"}[f.Phase]
	text := faultName(f) + " " + what
	if f.Detail != "" {
		return text + ": " + f.Detail
	}
	if len(f.Targets) > 0 {
		return text + " at " + strings.Join(f.Targets, ", ")
	}
	return text
}

func serverInWords(s *history.ServerEvent) string {
	why := map[string]string{
		"command": s.Command + " of " + s.By, "expiry": "its time was over", "replication": "replicated", "fault": "a fault", "restart": "a restart",
	}[s.Cause]
	held := "nobody holds it"
	if s.Holder != "" {
		held = fmt.Sprintf("%s holds it %s", s.Holder, times(s.Count))
		if s.TTL > 0 {
			held += " for " + time.Duration(s.TTL).String()
		}
	}
	return fmt.Sprintf("%s (%s): %s: %s (%s)", s.Node, s.Role, s.Key, held, why)
}
