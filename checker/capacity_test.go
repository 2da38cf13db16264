package checker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-go/holdfast/checker/history"
)

// The judges weigh the holds of a lock with room for several. The excuse of one
// hold excuses one too many, and not two.
func TestHoldsAreWeighed(t *testing.T) {
	permits := func(n int) history.Header {
		return leased(func(h *history.Header) { h.Claims.Reentrant, h.Claims.Permits, h.User = false, n, history.Careless })
	}
	readers := leased(func(h *history.Header) { h.Claims.Reentrant, h.Claims.ReadWrite = false, true })
	behind := leased(func(h *history.Header) {
		h.Claims.Reentrant, h.Claims.ReadWrite, h.Claims.PrefersWriters = false, true, true
	})
	turning := leased(func(h *history.Header) {
		h.Claims.Reentrant, h.Claims.ReadWrite, h.Claims.Upgrades, h.Claims.Downgrades = false, true, true, true
	})
	const readsOn = `
			0    c1 acquire lease=9000; 1 ok
			2    c1.2 acquire lease=9000 mode=shared self=c1; 3 ok
			300  c1 release; 301 ok`
	const amongReaders = `
			0    c1 acquire lease=60000 mode=shared; 1 ok
			2    c2 acquire lease=60000 mode=shared; 3 ok`
	const readerWaitsBehindAWriter = `
			0     c1 acquire lease=60000 mode=shared; 1 ok
			2     c2 acquire lease=60000 wait=-1
			1000  c3 acquire lease=60000 wait=-1 mode=shared
			1100  c4 acquire lease=60000 mode=shared; 1101 fail err=busy
			30000 c1 release; 30001 ok
			30002 c2 ok
			30003 c2 release; 30004 ok
			30005 c3 ok
			30006 c3 release; 30007 ok`
	keptBack := behind
	keptBack.Faults = []history.PlannedFault{{ID: 1, Fault: "hold-request"}}
	lateWriter := func(begin, outcome, end string) string {
		return `
			0     c1 acquire lease=60000 mode=shared; 1 ok
			3     c2 acquire lease=5000 wait=50
			` + begin + `
			60    c2 ` + outcome + `
			` + end + `
			9000  c3 acquire lease=5000 mode=shared; 9001 fail err=busy`
	}
	inLine := leased(func(h *history.Header) { h.Claims.Reentrant, h.Claims.Fairness = false, true })
	inLine.Faults = keptBack.Faults
	standsUntil := func(when string) string {
		return `
			1     fault start 1 hold-request c1 n1
			2     c1 acquire lease=5000 wait=50
			60    c1 info err=unknown
			100   c1 acquire lease=5000
			101   server n1 EVAL by=c1 holder=c1 ttl=5000
			102   c1 ok
			200   fault end 1 hold-request c1 n1
			300   c1 release
			301   server n1 EVAL by=c1
			302   c1 ok
			` + when + ` c3 acquire lease=5000 wait=50
			` + when + ` server n1 EVAL by=c3 holder=c1 ttl=1000
			12100 c3 fail err=busy`
	}
	for _, tt := range []struct {
		name     string
		header   history.Header
		story    string
		property Property
		want     Outcome
		inherent bool
		reason   string
	}{
		{"as many as there are permits", permits(2), `
			0    c1 acquire lease=9000; 1 ok
			2    c2 acquire lease=9000; 3 ok
			500  c1 release; 501 ok
			502  c3 acquire lease=9000; 503 ok
			600  c2 release; 601 ok
			700  c3 release; 701 ok`, Exclusion, OutcomeOK, false, ""},
		{"one more", permits(2), `
			0    c1 acquire lease=9000; 1 ok
			2    c2 acquire lease=9000; 3 ok
			4    c3 acquire lease=9000; 5 ok
			600  c1 release; 601 ok
			602  c2 release; 603 ok
			604  c3 release; 605 ok`, Exclusion, Violated, false, "3 owners of 2 permits"},
		{"one lease outlived excuses one more", permits(2), `
			0    c1 acquire lease=1000; 1 ok
			2    c2 acquire lease=9000; 3 ok
			1500 c3 acquire lease=9000; 1501 ok
			1600 c1 release; 1601 fail err=lost
			1602 c2 release; 1603 ok
			1604 c3 release; 1605 ok`, Exclusion, Violated, true, "went on after its lease"},
		{"one lease outlived does not excuse two more", permits(2), `
			0    c1 acquire lease=1000; 1 ok
			2    c2 acquire lease=9000; 3 ok
			1500 c3 acquire lease=9000; 1501 ok
			1502 c4 acquire lease=9000; 1503 ok
			1600 c1 release; 1601 fail err=lost
			1602 c2 release; 1603 ok
			1604 c3 release; 1605 ok
			1606 c4 release; 1607 ok`, Exclusion, Violated, false, "3 owners of 2 permits"},
		{"readers together", readers, `
			0    c1 acquire lease=9000 mode=shared; 1 ok
			2    c2 acquire lease=9000 mode=shared; 3 ok
			600  c1 release; 601 ok
			602  c2 release; 603 ok`, Exclusion, OutcomeOK, false, ""},
		{"a writer among readers", readers, `
			0    c1 acquire lease=9000 mode=shared; 1 ok
			2    c2 acquire lease=9000; 3 ok
			600  c1 release; 601 ok
			602  c2 release; 603 ok`, Exclusion, Violated, false, "during the lease of reader client-1/1"},
		{"a writer reads on, and another reads", turning, readsOn + `
			400  c2 acquire lease=9000 mode=shared; 401 ok
			500  c2 release; 501 ok
			600  c1.2 release; 601 ok`, Exclusion, OutcomeOK, false, ""},
		{"a writer reads on, and another writes", turning, readsOn + `
			400  c2 acquire lease=9000; 401 ok
			500  c2 release; 501 ok
			600  c1.2 release; 601 ok`, Exclusion, Violated, false, "writer client-2/1 was granted the lock at 0.401 s during the lease of reader client-1/2"},
		{"a writer reads as well, and another reads too early", turning, `
			0    c1 acquire lease=9000; 1 ok
			2    c1.2 acquire lease=9000 mode=shared self=c1; 3 ok
			100  c2 acquire lease=9000 mode=shared; 101 ok
			300  c1 release; 301 ok
			500  c2 release; 501 ok
			600  c1.2 release; 601 ok`, Linearizable, Violated, false, ""},
		{"a writer is refused to read", turning, `
			0    c1 acquire lease=9000; 1 ok
			2    c1.2 acquire lease=9000 mode=shared self=c1; 3 fail err=busy
			300  c1 release; 301 ok`, Linearizable, Violated, false, ""},
		{"another reader is refused once a writer reads on", turning, readsOn + `
			400  c2 acquire lease=9000 mode=shared; 401 fail err=busy
			600  c1.2 release; 601 ok`, Linearizable, Violated, false, ""},
		{"a reader writes among readers", turning, amongReaders + `
			4    c1.2 acquire lease=9000 self=c1; 5 ok
			300  c1.2 release; 301 ok
			500  c2 release; 501 ok
			600  c1 release; 601 ok`, Exclusion, Violated, false, "writer client-1/2 was granted the lock at 0.005 s during the lease of reader client-2/1"},
		{"a reader waits for others to write", turning, amongReaders + `
			4    c1.2 acquire lease=60000 wait=-1 self=c1
			500  c2 release; 501 ok
			510  c1.2 ok
			700  c1.2 release; 701 ok
			800  c1 release; 801 ok`, Progress, OutcomeOK, false, ""},
		{"a writer waits to read behind another writer", behind, `
			0     c1 acquire lease=60000; 1 ok
			2     c2 acquire lease=60000 wait=-1
			10    c1.2 acquire lease=60000 wait=-1 mode=shared self=c1
			30000 c1.2 ok
			30001 c1 release; 30002 ok
			30003 c1.2 release; 30004 ok
			30005 c2 ok
			30006 c2 release; 30007 ok`, Progress, Violated, false, "client-1/2 waited from"},
		{"a reader who writes waits for itself", turning, amongReaders + `
			4     c1.2 acquire lease=60000 wait=-1 self=c1
			500   c2 release; 501 ok
			30000 c1.2 ok
			30001 c1.2 release; 30002 ok
			30003 c1 release; 30004 ok`, Progress, Violated, false, "client-1/2 waited from"},
		{"refused while there is room", permits(2), `
			0    c1 acquire lease=9000; 1 ok
			2    c2 acquire lease=9000; 3 fail err=busy
			600  c1 release; 601 ok`, Linearizable, Violated, false, ""},
		{"refused while it is full", permits(2), `
			0    c1 acquire lease=9000; 1 ok
			2    c2 acquire lease=9000; 3 ok
			4    c3 acquire lease=9000; 5 fail err=busy
			600  c1 release; 601 ok
			602  c2 release; 603 ok`, Linearizable, OutcomeOK, false, ""},
		{"two of two permits, and one more", permits(2), `
			0    c1 acquire lease=9000 permits=2; 1 ok count=2
			2    c2 acquire lease=9000; 3 ok
			600  c1 release permits=2; 601 ok
			602  c2 release; 603 ok`, Exclusion, Violated, false, "during the lease of client-1/1 (2 permits)"},
		{"two of three permits, and one more", permits(3), `
			0    c1 acquire lease=9000 permits=2; 1 ok count=2
			2    c2 acquire lease=9000; 3 ok
			600  c1 release permits=2; 601 ok
			602  c2 release; 603 ok`, Exclusion, OutcomeOK, false, ""},
		{"refused two while one is free", permits(2), `
			0    c1 acquire lease=9000; 1 ok
			2    c2 acquire lease=9000 permits=2; 3 fail err=busy
			600  c1 release; 601 ok`, Linearizable, OutcomeOK, false, ""},
		{"refused two while two are free", permits(3), `
			0    c1 acquire lease=9000; 1 ok
			2    c2 acquire lease=9000 permits=2; 3 fail err=busy
			600  c1 release; 601 ok`, Linearizable, Violated, false, ""},
		{"who waits for two waits while one is free", permits(2), `
			0     c1 acquire lease=60000; 1 ok
			4     c2 acquire lease=60000 wait=-1 permits=2
			29500 c1 release; 29501 ok
			30000 c2 ok count=2
			30001 c2 release permits=2; 30002 ok`, Progress, OutcomeOK, false, ""},
		{"who waits for two sleeps while two are free", permits(3), `
			0     c1 acquire lease=60000; 1 ok
			4     c2 acquire lease=60000 wait=-1 permits=2
			29500 c1 release; 29501 ok
			30000 c2 ok count=2
			30001 c2 release permits=2; 30002 ok`, Progress, Violated, false, "client-2/1 waited from"},
		{"a release gives one of two permits back", permits(3), `
			0    c1 acquire lease=9000 permits=2
			1    server n1 EVAL by=c1 holder=c1 count=2 ttl=9000
			2    c1 ok count=2
			600  c1 release permits=2
			601  server n1 EVAL by=c1 holder=c1 count=1 ttl=8400
			602  c1 ok`, Errors, Violated, false, "the release of client-1/1 succeeded at 0.602 s; node-1 held the lock for it until"},
		{"a server counts three permits of two", permits(3), `
			0    c1 acquire lease=9000 permits=2
			1    server n1 EVAL by=c1 holder=c1 count=3 ttl=9000
			2    c1 ok count=2
			600  c1 release permits=2
			601  server n1 DEL by=c1
			602  c1 ok`, Count, Violated, false, "node-1 counted 3 holds of client-1/1"},
		{"a waiter sleeps although a permit is free", permits(2), `
			0     c1 acquire lease=60000; 1 ok
			2     c2 acquire lease=60000; 3 ok
			4     c3 acquire lease=60000 wait=-1
			500   c2 release; 501 ok
			30000 c3 ok
			30001 c3 release; 30002 ok
			30003 c1 release; 30004 ok`, Progress, Violated, false, "client-3/1 waited from"},
		{"a waiter waits as long as there is no permit", permits(2), `
			0     c1 acquire lease=60000; 1 ok
			2     c2 acquire lease=60000; 3 ok
			4     c3 acquire lease=60000 wait=-1
			29500 c2 release; 29501 ok
			30000 c3 ok
			30001 c3 release; 30002 ok
			30003 c1 release; 30004 ok`, Progress, OutcomeOK, false, ""},
		{"another owner takes an expired permit away, after a later one was given back", permits(3), `
			0    c1 acquire lease=1000
			1    server n1 EVAL by=c1 holder=c1 ttl=1000
			2    c1 ok
			10   c1 acquire lease=9000
			11   server n1 EVAL by=c1 holder=c1 count=2 ttl=9000
			12   c1 ok
			20   c1 release
			21   server n1 EVAL by=c1 holder=c1 count=1 ttl=980
			22   c1 ok
			30   c1 acquire lease=9000
			31   server n1 EVAL by=c1 holder=c1 count=2 ttl=9000
			32   c1 ok
			2000 c2 acquire lease=9000
			2001 server n1 EVAL by=c2 holder=c1 count=1 ttl=7031
			2002 c2 ok`, Ownership, OutcomeOK, false, ""},
		{"another owner takes a permit away that nobody gave back", permits(3), `
			0    c1 acquire lease=9000
			1    server n1 EVAL by=c1 holder=c1 ttl=9000
			2    c1 ok
			10   c1 acquire lease=9000
			11   server n1 EVAL by=c1 holder=c1 count=2 ttl=9000
			12   c1 ok
			2000 c2 acquire lease=9000
			2001 server n1 EVAL by=c2 holder=c1 count=1 ttl=7010
			2002 c2 ok`, Ownership, Violated, false, "client-2 lowered the hold of client-1/1"},
		{"a reader waits behind a writer", behind, readerWaitsBehindAWriter, Progress, OutcomeOK, false, ""},
		{"a reader waits for readers", readers, readerWaitsBehindAWriter, Progress, Violated, false, "without the claim prefers_writers"},
		{"a reader is refused behind a writer", behind, readerWaitsBehindAWriter, Linearizable, OutcomeOK, false, ""},
		{"a reader is refused among readers", readers, readerWaitsBehindAWriter, Linearizable, Violated, false, "without the claim prefers_writers"},
		{"a writer has no answer, and its place stays", behind, `
			0     c1 acquire lease=5000; 1 ok
			2     c2 acquire lease=5000 wait=50; 60 info err=unknown
			100   c1 release; 101 ok
			1000  c3 acquire lease=5000 mode=shared; 1001 fail err=busy`, Linearizable, OutcomeOK, false, ""},
		{"a writer has no answer, and its request enters the queue late", keptBack, lateWriter("5    fault start 1 hold-request c2 n1", "info err=unknown", "8000 fault end 1 hold-request c2 n1"), Linearizable, OutcomeOK, false, ""},
		{"a writer has no answer, and nothing keeps its request back", behind, lateWriter("", "info err=unknown", ""), Linearizable, Violated, false, "client-3/1 was refused the lock as busy"},
		{"a writer is refused, and a try of it enters the queue late", keptBack, lateWriter("5    fault start 1 hold-request c2 n1", "fail err=busy", "8000 fault end 1 hold-request c2 n1"), Linearizable, OutcomeOK, false, ""},
		{"a writer is refused, and nothing keeps its tries back", behind, lateWriter("", "fail err=busy", ""), Linearizable, Violated, false, "client-3/1 was refused the lock as busy"},
		{"a late try of an owner stands in the queue", inLine, standsUntil("4000"), Count, OutcomeOK, false, ""},
		{"no place stands so long", inLine, standsUntil("12000"), Count, Violated, false, "it held none then"},
		{"no reader passes a writer", behind, readerWaitsBehindAWriter, Fairness, OutcomeOK, false, ""},
		{"a reader passes a writer", behind, `
			0     c1 acquire lease=60000 mode=shared; 1 ok
			2     c2 acquire lease=60000 wait=-1
			1000  c3 acquire lease=60000 mode=shared; 1001 ok
			2000  c1 release; 2001 ok
			3000  c3 release; 3001 ok
			3002  c2 ok
			3003  c2 release; 3004 ok`, Fairness, Violated, false, "reader client-3/1 was granted the lock at 1.001 s before writer client-2/1"},
		{"a reader sleeps when the writer has gone", behind, `
			0     c1 acquire lease=60000 mode=shared; 1 ok
			2     c2 acquire lease=60000 wait=2000
			1000  c3 acquire lease=60000 wait=-1 mode=shared
			2002  c2 fail err=busy
			30000 c1 release; 30001 ok
			30002 c3 ok
			30006 c3 release; 30007 ok`, Progress, Violated, false, "client-3/1 waited from 2.002"},
		{"a write between two reads", leased(func(h *history.Header) {
			h.Claims.Reentrant, h.Claims.ReadWrite, h.Resource = false, true, &history.Resource{Initial: 10}
		}), `
			0    c1 acquire lease=9000 mode=shared; 1 ok
			2    c1 read; 3 ok value=10
			4    c2 acquire lease=9000; 5 ok
			6    c2 read; 7 ok value=10
			8    c2 write value=9 base=10; 9 ok value=10
			10   c2 release; 11 ok
			12   c1 read base=10; 13 ok value=9
			14   c1 release; 15 ok`, ResourceSafe, Violated, false, "under the same hold"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := Judge(story(t, tt.header, tt.story), Options{})
			if err != nil {
				t.Fatal(err)
			}
			v := r.Verdicts[tt.property]
			if v.Outcome != tt.want || (v.Inherent != "") != tt.inherent || !strings.Contains(v.Reason, tt.reason) {
				t.Errorf("%s is %+v, want %s with %q, inherent: %t", tt.property, v, tt.want, tt.reason, tt.inherent)
			}
		})
	}
}

// A quorum may let in too many without any fault: with two permits on each of three
// servers, three owners can have two servers each. That accuses a semaphore only when so
// many are in, and no fault excuses it.
func TestQuorumsThatLetInTooMany(t *testing.T) {
	for _, tt := range []struct {
		permits       int
		readWrite     bool
		quorum, nodes int
		most          string // who get in, "" for no more than may
	}{
		{quorum: 2, nodes: 3},
		{quorum: 2, nodes: 4, most: "2 owners"},
		{quorum: 1, nodes: 5, most: "5 owners"},
		{permits: 2, quorum: 1, nodes: 1},
		{permits: 2, quorum: 2, nodes: 3, most: "3 owners"},
		{permits: 2, quorum: 3, nodes: 5, most: "3 owners"},
		{permits: 2, quorum: 4, nodes: 5},
		{permits: 3, quorum: 4, nodes: 5},
		{permits: 10, quorum: 4, nodes: 5, most: "12 owners"},
		{readWrite: true, quorum: 2, nodes: 3},
		{readWrite: true, quorum: 2, nodes: 4, most: "2 owners"},
	} {
		header := leased(func(h *history.Header) {
			h.Claims.Reentrant, h.Claims.Permits, h.Claims.ReadWrite = false, tt.permits, tt.readWrite
			h.Claims.Quorum, h.Claims.Nodes = tt.quorum, tt.nodes
		})
		exclusion := func(owners int) Verdict {
			var all strings.Builder
			for i := range owners {
				fmt.Fprintf(&all, "%d c%d acquire lease=9000\n%d c%d ok\n", i, i+1, i, i+1)
			}
			fmt.Fprintf(&all, "%d c1 release\n%d c1 ok\n", owners, owners+1)
			r, err := Judge(story(t, header, all.String()), Options{})
			if err != nil {
				t.Fatal(err)
			}
			return r.Verdicts[Exclusion]
		}
		v := exclusion(1)
		if tt.permits > 1 && tt.most != "" {
			if v.Outcome != OutcomeOK {
				t.Errorf("%+v, with one owner: %+v", tt, v)
			}
			v = exclusion(tt.permits + 1)
		}
		if tt.most == "" && v.Outcome != OutcomeOK || tt.most != "" && (v.Outcome != Violated || v.Inherent != "" || !strings.Contains(v.Reason, "so "+tt.most)) {
			t.Errorf("%+v: %+v", tt, v)
		}
	}
}

// An owner overstays its lease of one of two permits while two others are granted theirs. The
// leases overlap in pairs, and never all at once. So one was too many because the first
// overstayed.
func TestLeasesThatNeverRanAtOnce(t *testing.T) {
	h := leased(func(h *history.Header) { h.Claims.Reentrant, h.Claims.Permits, h.User = false, 2, history.Careless })
	v := verdictOn(t, Exclusion, h, `
		0    c1 acquire lease=1000
		1    server n1 EVAL by=c1 holder=c1 ttl=1000
		2    c1 ok
		10   c2 acquire lease=9000
		11   c3 acquire lease=9000 wait=5000
		900  server n1 EVAL by=c2 holder=c2 ttl=9000 was=c1
		1010 server n1 EVAL by=c3 holder=c3 ttl=9000
		1011 c3 ok
		1012 c2 ok
		2000 c1 release; 2001 fail err=lost
		2002 c2 release; 2003 ok
		2004 c3 release; 2005 ok`)
	if v.Class != LeaseOutlived || v.Faulty() || !strings.Contains(v.Reason, "client-1/1 went on after its lease had ended") {
		t.Errorf("got %+v, want client-1/1 to be who went on", v)
	}
}
