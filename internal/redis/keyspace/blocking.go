package keyspace

import (
	"bufio"
	"bytes"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// TimedOut is the reply when the time is over.
const TimedOut = "*-1\r\n"

// timeoutFirst and timeoutLast are the commands that wait, by where their
// timeout in seconds stands.
var (
	timeoutFirst = []string{"BLMPOP", "BZMPOP"}
	timeoutLast  = []string{"BLPOP", "BRPOP", "BRPOPLPUSH", "BLMOVE", "BZPOPMIN", "BZPOPMAX"}
)

func MayWait(args []string) bool {
	cmd := strings.ToUpper(args[0])
	return slices.Contains(timeoutFirst, cmd) || slices.Contains(timeoutLast, cmd) || blockOption(cmd, args) > 0
}

// blockOption is where the milliseconds of BLOCK stand among the arguments, 0
// where there is none.
func blockOption(cmd string, args []string) int {
	if cmd != "XREAD" && cmd != "XREADGROUP" {
		return 0
	}
	for i := 1; i+1 < len(args) && !strings.EqualFold(args[i], "STREAMS"); i++ {
		if strings.EqualFold(args[i], "BLOCK") {
			return i + 1
		}
	}
	return 0
}

// WaitTimeout is the longest time for which a request that waits does so, 0 for without
// end. It is meant for a request that [TryNow] found nothing for: one whose timeout makes
// no sense has got an error there.
func WaitTimeout(args []string) time.Duration {
	cmd := strings.ToUpper(args[0])
	word, unit := args[len(args)-1], float64(time.Second)
	switch at := blockOption(cmd, args); {
	case slices.Contains(timeoutFirst, cmd):
		word = args[min(1, len(args)-1)]
	case at > 0:
		word, unit = args[at], float64(time.Millisecond)
	}
	f, err := strconv.ParseFloat(word, 64)
	if err != nil || f <= 0 {
		return 0
	}
	return time.Duration(min(math.Ceil(f*unit), math.MaxInt64/2))
}

// PinLastEntry returns a request in which "$" is the last entry that a stream has now,
// which last tells.
func PinLastEntry(args []string, last func(stream string) (id string)) []string {
	i := slices.IndexFunc(args, func(a string) bool { return strings.EqualFold(a, "STREAMS") })
	if !strings.EqualFold(args[0], "XREAD") || i < 0 || (len(args)-i-1)%2 != 0 {
		return args
	}
	args = slices.Clone(args)
	streams := (len(args) - i - 1) / 2
	for k := i + 1; k <= i+streams; k++ {
		if args[k+streams] == "$" {
			args[k+streams] = last(args[k])
		}
	}
	return args
}

// QueuedForm is a request that may wait as it stands in a transaction, where it
// never does. miniredis has no BLMPOP, and its BLMOVE passes on a time to live.
func QueuedForm(args []string) []string {
	switch cmd := strings.ToUpper(args[0]); {
	case cmd == "BLMPOP":
		return append([]string{"LMPOP"}, args[min(2, len(args)):]...)
	case cmd == "BLMOVE" && len(args) == 6:
		return append([]string{"LMOVE"}, args[1:5]...)
	}
	return args
}

// TryNow carries out a request that may wait, without waiting. found is
// false when it would have to. The reply, an error included, is in the words of
// the protocol.
func TryNow(mr *miniredis.Miniredis, args []string, resp3 bool) (reply string, found bool) {
	var out bytes.Buffer
	peer := server.NewPeer(bufio.NewWriter(&out))
	peer.Resp3 = resp3
	ask := func(args ...string) string {
		out.Reset()
		mr.Server().Dispatch(peer, args)
		peer.Flush()
		return out.String()
	}
	ask("MULTI") // where nothing waits
	if refused := ask(QueuedForm(args)...); strings.HasPrefix(refused, "-") {
		return refused, true
	}
	reply = strings.TrimPrefix(ask("EXEC"), "*1\r\n")
	return reply, reply != TimedOut && reply != "$-1\r\n" && reply != "_\r\n"
}

// TryAgain is [TryNow] for a request that waits already. A key that has become one of
// another type does not end the wait.
func TryAgain(mr *miniredis.Miniredis, args []string, resp3 bool) (reply string, found bool) {
	reply, found = TryNow(mr, args, resp3)
	return reply, found && !strings.HasPrefix(reply, "-WRONGTYPE")
}

// WatchForData detects that a client disconnects while it waits, and then closes gone. It
// watches until the client sends data, and closes watched at its end. No reader may read
// from in before that.
func WatchForData(in *bufio.Reader) (gone, watched <-chan struct{}) {
	left, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		if _, err := in.Peek(in.Buffered() + 1); err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			close(left)
		}
	}()
	return left, over
}
