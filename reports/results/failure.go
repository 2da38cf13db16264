package results

import "strings"

// FailureReason is the reason of a failed run in one line, "" for one that did not fail.
func (r *Run) FailureReason() string {
	reason, _ := r.SplitFailure()
	return reason
}

// SplitFailure splits the failure of the run into the reason and the lines that explain
// it, a stack or the end of a server's log. The reason is the first line, or the first
// two if that ends in a colon and so only announces it.
func (r *Run) SplitFailure() (reason, rest string) {
	reason, rest, _ = strings.Cut(strings.TrimSpace(r.Failure), "\n")
	if strings.HasSuffix(strings.TrimSpace(reason), ":") {
		next, more, _ := strings.Cut(rest, "\n")
		reason, rest = strings.TrimSpace(reason)+" "+strings.TrimSpace(next), more
	}
	return reason, rest
}
