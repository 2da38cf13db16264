package checker

import (
	"testing"

	"github.com/holdfast-go/holdfast/checker/history"
)

func TestResourceAndFencing(t *testing.T) {
	guarded := leased(func(h *history.Header) { h.Resource = &history.Resource{Initial: 10}; h.Claims.Fencing = true })
	fenced := leased(func(h *history.Header) {
		h.Resource = &history.Resource{Initial: 10, Fenced: true}
		h.Claims.Fencing = true
	})
	section := func(tokens ...string) string {
		return `
			0   c1 acquire lease=1000; 1 ok count=1 token=` + tokens[0] + `
			2   c1 release; 3 ok
			4   c2 acquire lease=1000; 5 ok count=1 token=` + tokens[1] + `
			6   c2 release; 7 ok
			`
	}
	lost := section("1", "2") + `
			10 c1 read; 11 ok value=10
			12 c2 read; 13 ok value=10
			14 c2 write value=9 base=10 token=2; 15 ok value=10
			16 c1 write value=9 base=10 token=1; 17 ok value=9`
	run(t, []propertyTest{
		{"lost update", guarded, lost, ResourceSafe, Violated, "", "1 update lost: client-1/1 had read 10", ""},
		{"every update seen", fenced, section("1", "2") + `
			10 c1 read; 11 ok value=10
			14 c1 write value=9 base=10 token=1; 15 ok value=10
			16 c2 write value=8 base=9 token=2; 17 ok value=9`, ResourceSafe, OutcomeOK, "", "", ""},
		{"stale write accepted", fenced, section("1", "2") + `
			10 c1 read; 11 ok value=10
			14 c2 write value=9 base=10 token=2; 15 ok value=10
			16 c1 write value=8 base=9 token=1; 17 ok value=9`, ResourceSafe, Violated, "", "token 1 was accepted", ""},
		{"tokens grow", leased(func(h *history.Header) { h.Claims.Fencing = true }), section("7", "8"), Fencing, OutcomeOK, "", "", ""},
		{"token repeats", leased(func(h *history.Header) { h.Claims.Fencing = true }), section("7", "7"), Fencing, Violated, "", "token 7", ""},
		{"token goes back", leased(func(h *history.Header) { h.Claims.Fencing = true }), section("7", "3"), Fencing, Violated, "", "token 3", ""},
		{"token behind several", leased(func(h *history.Header) { h.Claims.Fencing = true }), section("7", "9") + `
			8   c3 acquire lease=1000; 9 ok count=1 token=7
			10  c3 release; 11 ok`, Fencing, Violated, "", "with token 7; the highest token before was 9, of client-2/1 at 0.005 s", ""},
		{"token of an earlier hold", leased(func(h *history.Header) { h.Claims.Fencing = true }), overtaken(500), Fencing, Violated, "",
			"with token 2; the highest token before was 3, of client-2/1 at 0.004 s", ""},
		{"token of a hold that may have ended", leased(func(h *history.Header) { h.Claims.Fencing = true }), overtaken(1500), Fencing, OutcomeOK, "", "", ""},
		{"no token", leased(func(h *history.Header) { h.Claims.Fencing = true }), section("7", "0"), Fencing, Violated, "", "without a token", ""},
		{"nested holds share it", leased(func(h *history.Header) { h.Claims.Fencing = true }), `
			0 c1 acquire lease=1000; 1 ok count=1 token=5
			2 c1 acquire lease=1000; 3 ok count=2 token=5
			4 c1 release; 5 ok count=1
			6 c1 release; 7 ok`, Fencing, OutcomeOK, "", "", ""},
		{"nested hold gets a new one", leased(func(h *history.Header) { h.Claims.Fencing = true }), `
			0 c1 acquire lease=1000; 1 ok count=1 token=5
			2 c1 acquire lease=1000; 3 ok count=2 token=6
			4 c1 release; 5 ok count=1`, Fencing, Violated, "", "token 6", ""},
	})
}
