package checker

import "github.com/holdfast-go/holdfast/history"

// What a judge asks of a fault. Each question is about all of its traits: a
// fault with a trait that a question does not name is never taken for harmless.

// only reports whether a fault has no other traits than these.
func (s *faultSpan) only(t history.Traits) bool {
	t.Instant, t.Lasts = s.Instant, s.Lasts
	return s.Traits == t
}

// onlyStops reports whether a fault stops a process for a while, and does nothing
// else.
func (s *faultSpan) onlyStops() bool { return s.only(history.Traits{StopsProcess: true}) }

// sparesRequests reports whether a fault disturbs messages to subscribers at most.
func (s *faultSpan) sparesRequests() bool {
	return s.only(history.Traits{LosesNotices: s.LosesNotices, HoldsSubscriptions: s.HoldsSubscriptions})
}

// cancelsAtMost reports whether a fault spares requests, or cancels operations.
func (s *faultSpan) cancelsAtMost() bool {
	return s.only(history.Traits{LosesNotices: s.LosesNotices, HoldsSubscriptions: s.HoldsSubscriptions, Cancels: s.Cancels})
}

// sparesRenewals reports whether a fault blocks no renewal: it costs a client at
// most a round trip.
func (s *faultSpan) sparesRenewals() bool {
	return s.only(history.Traits{
		LosesNotices: s.LosesNotices, HoldsSubscriptions: s.HoldsSubscriptions, Cancels: s.Cancels, ForgetsScripts: s.ForgetsScripts,
	})
}

// sparesPrimary reports whether a fault blocks no request from its execution on
// the primary. It may block replication.
func (s *faultSpan) sparesPrimary() bool {
	return s.sparesRenewals() || s.only(history.Traits{HoldsReplication: true, Cuts: s.Cuts})
}

// holdsMessages reports whether messages between clients and servers arrive late.
func (s *faultSpan) holdsMessages() bool { return s.HoldsRequests || s.HoldsReplies }

// keepsReplies reports whether a client may miss the reply of a server: it comes
// late or never, or the client is stopped.
func (s *faultSpan) keepsReplies() bool {
	return s.HoldsReplies || s.LosesReplies || s.BreaksConnections || s.StopsProcess
}

// replacesServer reports whether another server may answer for a group afterwards.
func (s *faultSpan) replacesServer() bool { return s.Promotes || s.StopsNode }
