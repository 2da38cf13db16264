package linear

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// mix says what a random history contains.
type mix struct {
	reentrant, leased, unclear, goesOn, failed, renewed, touch, loose, tokens bool
	slack                                                                     int64
	pace                                                                      int // the smaller, the more ties
	releases                                                                  int // the greater, the fewer nested acquires
	losses                                                                    int // when unclear, one outcome in so many
}

func randomMix(r *rand.Rand) mix {
	b := func(n int) bool { return r.IntN(n) == 0 }
	m := mix{reentrant: b(2), leased: b(2), unclear: b(2), goesOn: b(3), failed: b(5), renewed: b(4), touch: b(4), loose: b(6), tokens: b(3)}
	m.releases, m.pace, m.losses = 1+r.IntN(4), 2+r.IntN(5), 2+r.IntN(7)
	if b(2) {
		m.slack = int64(r.IntN(3))
	}
	return m
}

func (m mix) rules() Rules { return Rules{Reentrant: m.reentrant, Slack: m.slack, Loose: m.loose} }

// simulated is a history of a correct lock: each operation takes effect at one
// instant of its interval. Then some replies and times are changed.
func simulated(r *rand.Rand, m mix, owners, n, mutations int) []Op {
	type who struct{ dead bool }
	ws := make([]who, owners+1)
	holder, count := int32(0), int32(0)
	token := uint64(0)
	var end int64
	var ops []Op
	lease := func() int64 {
		if !m.leased || r.IntN(4) == 0 {
			return Forever
		}
		return int64(2 + r.IntN(3*m.pace))
	}
	// Owners act in the order of the instants at which they take effect.
	type act struct {
		owner   int32
		inv, at int64
	}
	var acts []act
	for w := 1; w <= owners; w++ {
		var now int64
		for range n {
			now += int64(r.IntN(m.pace))
			at := now + int64(r.IntN(m.pace))
			if r.IntN(8) == 0 {
				at += int64(r.IntN(8 * m.pace)) // a slow request
			}
			acts = append(acts, act{int32(w), now, at})
			now = at + int64(r.IntN(m.pace))
			if r.IntN(8) == 0 {
				now += int64(r.IntN(8 * m.pace)) // a slow reply, or a pause
			}
			if !m.touch {
				now++
			}
		}
	}
	slices.SortStableFunc(acts, func(a, b act) int { return int(a.at - b.at) })
	next := map[int32][]int64{}
	for i := len(acts) - 1; i >= 0; i-- {
		next[acts[i].owner] = append(next[acts[i].owner], acts[i].inv)
	}
	for _, a := range acts {
		w := &ws[a.owner]
		mine := next[a.owner]
		mine = mine[:len(mine)-1]
		next[a.owner] = mine
		if w.dead {
			continue
		}
		if holder != 0 && a.at >= end {
			holder, count = 0, 0
		}
		o := Op{ID: int64(len(ops) + 1), Owner: a.owner, Call: a.inv, Asked: a.inv, Return: a.at, Lease: Forever}
		if len(mine) > 0 {
			if room := mine[len(mine)-1] - a.at; m.touch {
				o.Return += r.Int64N(room + 1)
			} else if room > 1 {
				o.Return += r.Int64N(room)
			}
		} else {
			o.Return += int64(r.IntN(4))
		}
		own := holder == a.owner
		lost := m.unclear && r.IntN(m.losses) == 0
		switch k := r.IntN(10); {
		case k == 0:
			o.Kind = Inspected
			if own {
				o.Count = count
			}
		case k < 6 && !(own && r.IntN(m.releases) > 0):
			o.Lease = lease()
			o.Renewed = m.renewed && r.IntN(3) == 0
			switch {
			case m.failed && r.IntN(6) == 0:
				o.Kind = TookAndGave
			case holder == 0:
				o.Kind, o.Count = GotLock, 1
				holder, count, end = a.owner, 1, add(a.at, o.Lease)
				token++
			case own && m.reentrant:
				count++
				o.Kind, o.Count = GotLock, count
				end = max(end, add(a.at, o.Lease))
			default:
				o.Kind = FoundBusy
			}
			if o.Kind == GotLock && r.IntN(20) == 0 {
				o.Count = 0
			}
			if o.Kind == GotLock && m.tokens && r.IntN(20) > 0 {
				o.Token = token
			}
			if lost {
				o.Kind, o.Count, o.Token = MaybeGot, 0, 0
			}
		default:
			switch {
			case own:
				count--
				o.Kind, o.Count = GaveBack, count
				if count == 0 {
					holder = 0
				}
			case r.IntN(2) == 0:
				o.Kind = HeldNothing
			default:
				o.Kind = FoundLost
			}
			if lost {
				o.Kind, o.Count = MaybeGave, 0
			}
		}
		if o.Kind == MaybeGot || o.Kind == MaybeGave {
			o.Return = Forever
			o.Crashed = r.IntN(2) == 0
			w.dead = !m.goesOn
			if r.IntN(12) == 0 {
				o.Return = a.at // pinned
			}
		}
		ops = append(ops, o)
	}
	for range mutations {
		o := &ops[r.IntN(len(ops))]
		switch r.IntN(6) {
		case 5:
			if o.Token > 0 {
				o.Token = uint64(1 + r.IntN(int(token)+1))
			}
		case 0:
			o.Kind, o.Token = []Kind{GotLock, FoundBusy, GaveBack, HeldNothing, Inspected, FoundLost}[r.IntN(6)], 0
			if o.Return >= Forever {
				o.Return = o.Call + 3
			}
			o.Count = int32(r.IntN(3))
		case 1:
			o.Count = int32(r.IntN(3))
		case 2:
			if o.Return < Forever {
				o.Call = min(o.Return, o.Call+int64(r.IntN(3)))
				o.Asked = o.Call
			}
		case 3:
			if o.Return < Forever {
				o.Return = max(o.Call, o.Return-int64(r.IntN(3)))
			}
		case 4:
			if o.Return < Forever {
				d := int64(r.IntN(5)) - 2
				o.Call, o.Return, o.Asked = max(0, o.Call+d), max(0, o.Return+d), max(0, o.Call+d)
			}
		}
	}
	if r.IntN(3) == 0 {
		r.Shuffle(len(ops), func(i, j int) { ops[i], ops[j] = ops[j], ops[i] })
	}
	return ops
}

// smallest drops operations for as long as the judges still differ.
func smallest(ops []Op, differ func([]Op) bool) []Op {
	for again := true; again; {
		again = false
		for i := range ops {
			if fewer := slices.Delete(slices.Clone(ops), i, i+1); differ(fewer) {
				ops, again = fewer, true
				break
			}
		}
	}
	return ops
}

func listing(ops []Op) string {
	var b strings.Builder
	for i := range ops {
		o := &ops[i]
		ret := strconv.FormatInt(o.Return, 10)
		if o.Return >= Forever {
			ret = "-"
		}
		lease := ""
		if o.Lease < Forever {
			lease = fmt.Sprintf(", lease %d", o.Lease)
		}
		fmt.Fprintf(&b, "\n[%d, %s] owner %d %s%s, renewed %t, crashed %t, token %d", o.Call, ret, o.Owner, o.describe(nil), lease, o.Renewed, o.Crashed, o.Token)
	}
	return b.String()
}

// rounds is the number of histories that the differential tests judge. HOLDFAST_ROUNDS
// sets it for a long run.
func rounds(t *testing.T, def int) int {
	if n, err := strconv.Atoi(os.Getenv("HOLDFAST_ROUNDS")); err == nil {
		return n
	}
	if testing.Short() {
		return def / 10
	}
	return def
}

func byCall(a, b Op) int { return cmp.Compare(a.Call, b.Call) }
