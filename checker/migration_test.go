package checker

import "testing"

// A hold goes on when its key moves to another server, which may still lose it later.
func TestAHoldGoesOnWhenItsKeyMoves(t *testing.T) {
	moved := func(rest string) string {
		return `
			0     c1 takes lease=10000
			10    fault start 1 move-slots n1 n2
			2000  fault end 1 move-slots n1 n2
			2001  server n2 cause=migration holder=c1 ttl=7999
			2001  server n1 cause=migration
			` + rest
	}
	free := moved(`
			3500  c2 acquire lease=10000 wait=9000
			3501  server n2 cause=expiry
			3502  server n2 SET by=c2 holder=c2 ttl=10000
			3503  c2 ok count=1
			9000  c1 release; 9001 info err=unknown
			9002  c2 release
			9003  server n2 DEL by=c2
			9004  c2 ok`)
	kept := moved(`
			3500  c2 acquire lease=10000 wait=9000
			9000  c1 release
			9001  server n2 DEL by=c1
			9002  c1 ok
			9003  server n2 SET by=c2 holder=c2 ttl=10000
			9004  c2 ok count=1
			9100  c2 release
			9101  server n2 DEL by=c2
			9102  c2 ok`)
	deleted := moved(`
			3000  fault start 2 delete-key n2
			3000  server n2 cause=fault
			3500  c2 acquire lease=10000
			3501  server n2 SET by=c2 holder=c2 ttl=10000
			3502  c2 ok count=1
			9000  c1 release; 9001 info err=unknown
			9002  c2 release
			9003  server n2 DEL by=c2
			9004  c2 ok`)
	tests := []propertyTest{
		{"it expires early after the move", leased(nil), free, Lease, Violated, "", "of its lease were still owed", "server log"},
		{"another is granted after the move", leased(nil), free, Exclusion, Violated, "contract broken", "", ""},
		{"its key is deleted after the move", leased(nil), deleted, Exclusion, Violated, "contract broken", "", ""},
	}
	for _, p := range []Property{Exclusion, Lease, Progress, Errors, Linearizable, Ownership} {
		tests = append(tests, propertyTest{"it is kept", leased(nil), kept, p, OutcomeOK, "", "", ""})
	}
	run(t, tests)
}
