package checker

import "testing"

func TestExclusion(t *testing.T) {
	quorum := majorityOf(3)
	run(t, []propertyTest{
		{"granted after an early round was given back", quorum, `
			0    c1 acquire lease=1000
			1    server n1 SET by=c1 holder=c1 ttl=1000
			2    server n2 SET by=c1 holder=c1 ttl=1000
			5    server n1 DEL by=c1
			6    server n2 DEL by=c1
			10   c2 acquire lease=1000
			11   server n1 SET by=c2 holder=c2 ttl=1000
			12   server n2 SET by=c2 holder=c2 ttl=1000
			13   c2 ok count=1
			1011 server n1 cause=expiry
			1012 server n2 cause=expiry
			1020 server n1 SET by=c1 holder=c1 ttl=1000
			1021 server n2 SET by=c1 holder=c1 ttl=1000
			1022 c1 ok count=1
			1100 c1 release
			1101 server n1 DEL by=c1
			1102 server n2 DEL by=c1
			1103 c1 ok
			1200 c2 release; 1202 fail err=lost`, Exclusion, Violated, LeaseOutlived, "client-2/1 went on after its lease had ended at 1.01", "server log"},
		{"nested holds of a closed lock", leased(nil), `
			0    c1 takes lease=1000
			3    c1 acquire lease=1000
			4    server n1 EVAL by=c1 holder=c1 count=2 ttl=1000
			5    c1 ok count=2
			500  c1 closed
			510  c1 release; 510 fail err=canceled
			1004 server n1 cause=expiry
			1010 c2 takes lease=1000
			1020 c2 gives`, Exclusion, OutcomeOK, "", "", ""},
		{"second grant during the lease", leased(nil), `
			0   c1 takes lease=1000
			400 server n1 DEL cause=fault
			500 c2 takes lease=1000
			600 c1 release; 601 fail err=lost
			700 c2 gives`, Exclusion, Violated, ContractBroken, "during the lease of client-1/1", "server log"},
		{"holder goes on after its lease", leased(nil), `
			0    c1 takes lease=1000
			1001 server n1 cause=expiry
			1100 c2 takes lease=1000
			1200 c1 release; 1201 fail err=not-held
			1300 c2 gives`, Exclusion, Violated, LeaseOutlived, "had ended at 1.001 s", "server log"},
		{"hears of its grant when others hold", leased(nil), `
			0    c1 acquire lease=1000 wait=9000
			1    server n1 SET by=c1 holder=c1 ttl=1000
			1001 server n1 cause=expiry
			1100 c2 takes lease=1000
			1200 c1 ok count=1
			1300 c2 gives
			1400 c1 release; 1401 fail err=not-held`, Exclusion, Violated, LeaseOutlived, "client-1/1 went on after its lease had ended at 1.001 s", "server log"},
		{"granted at the very end of the lease", leased(nil), `
			0    c1 takes lease=1000
			1000 c2 takes lease=1000
			1200 c1 release; 1201 fail err=not-held`, Exclusion, Violated, LeaseOutlived, "", ""},
		{"failover: the server that owed the lease is another", leased(nil), `
			0   c1 takes lease=1000
			500 c2 acquire lease=1000
			501 server n1r1 SET by=c2 holder=c2 ttl=1000 role=primary
			502 c2 ok count=1
			600 c1 release; 601 fail err=lost`, Exclusion, Violated, ContractBroken, "", ""},
		{"owed on a minority of three only", quorum, `
			0    c1 acquire lease=1000
			1    server n1 SET by=c1 holder=c1 ttl=1000
			2    server n2 SET by=c1 holder=c1 ttl=1000
			3    c1 ok count=1
			900  server n3 SET by=c1 holder=c1 ttl=1000
			1100 c2 acquire lease=1000
			1101 server n1 SET by=c2 holder=c2 ttl=1000
			1102 server n2 SET by=c2 holder=c2 ttl=1000
			1103 c2 ok count=1
			1200 c1 release; 1201 fail err=lost`, Exclusion, Violated, LeaseOutlived, "", ""},
		{"a crashed holder believes nothing", leased(nil), `
			0    c1 acquire lease=1000; 2 ok count=1
			100  c1 crash
			500  c2 acquire lease=1000; 502 ok count=1
			600  c2 release; 601 ok`, Exclusion, OutcomeOK, "", "", ""},
		{"told in time", leased(nil), `
			0    c1 acquire lease=1000; 2 ok count=1
			900  c1 lost
			1500 c2 acquire lease=1000; 1502 ok count=1
			1600 c2 release; 1601 ok`, Exclusion, OutcomeOK, "", "", ""},
		{"no server log, lease still owed", leased(nil), `
			0    c1 acquire lease=1000; 2 ok count=1
			500  c2 acquire lease=1000; 502 ok count=1
			600  end`, Exclusion, Violated, ContractBroken, "", ""},
		{"no server log, undecidable", leased(nil), `
			0    c1 acquire lease=1000; 100 ok count=1
			1000 c2 acquire lease=1000; 1050 ok count=1
			1200 end`, Exclusion, Violated, "", "without a server log", ""},
	})
}
