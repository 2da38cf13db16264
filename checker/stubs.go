package checker

import "io"

func stub(*trace) Verdict { return Verdict{Outcome: Unknown, Reason: "not judged yet"} }

func judgeExclusion(t *trace) Verdict               { return stub(t) }
func judgeLinearizable(t *trace, o Options) Verdict { return stub(t) }
func judgeResource(t *trace) Verdict                { return stub(t) }
func judgeFencing(t *trace) Verdict                 { return stub(t) }
func judgeOwnership(t *trace) Verdict               { return stub(t) }
func judgeCount(t *trace) Verdict                   { return stub(t) }
func judgeLease(t *trace) Verdict                   { return stub(t) }
func judgeRenewal(t *trace) Verdict                 { return stub(t) }
func judgeProgress(t *trace) Verdict                { return stub(t) }
func judgeFairness(t *trace) Verdict                { return stub(t) }
func judgeErrors(t *trace) Verdict                  { return stub(t) }
func judgeCleanup(t *trace) Verdict                 { return stub(t) }
func picture(h *History, w io.Writer) error         { return nil }
