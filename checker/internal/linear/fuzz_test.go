package linear

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// A small history of lock operations as bytes: the rules, then opBytes for every
// operation in the order of the calls. Any bytes make a history, and changing
// one changes one thing of it.
const (
	opBytes = 6
	opsMost = 10
)

// opsOf reads a history. Owners do one thing after the other unless the rules
// byte says otherwise.
func opsOf(data []byte) ([]Op, Rules) {
	if len(data) == 0 {
		return nil, Rules{}
	}
	b := data[0]
	r := Rules{Reentrant: b&1 > 0, Loose: b&6 == 6, Slack: int64(b >> 3 & 3)}
	mayOverlap := b&224 == 224
	free := map[int32]int64{} // when the owner may go on
	var ops []Op
	var call int64
	for d := data[1:]; len(d) >= opBytes && len(ops) < opsMost; d = d[opBytes:] {
		call += int64(d[1] & 31)
		o := Op{
			ID: int64(len(ops) + 1), Owner: 1 + int32(d[0]&3), Kind: Kind(d[0] >> 2 & 15 % (uint8(Inspected) + 1)),
			Crashed: d[0]&64 > 0, Renewed: d[0]&128 > 0, Count: int32(d[1] >> 5 & 3), Lease: int64(d[3]),
		}
		if !mayOverlap {
			call = max(call, free[o.Owner])
		}
		o.Call, o.Asked, o.Return = call, call-int64(d[4]&1)*int64(d[4]>>5), call+int64(d[2])
		if d[3] == 255 || (o.Kind != GotLock && o.Kind != MaybeGot && o.Kind != TookAndGave) {
			o.Lease = Forever
		}
		unclear := o.Kind == MaybeGot || o.Kind == MaybeGave
		if o.Renewed = o.Renewed && o.Lease < Forever; unclear && d[4]&14 > 0 {
			o.Return = Forever // else it took effect at a known time, if at all
		}
		o.Crashed = o.Crashed && unclear
		if unclear {
			o.Count = 0
		}
		if o.Kind == GotLock {
			o.Token = uint64(d[5] & 7)
		}
		free[o.Owner] = min(o.Return, o.Call+int64(d[2])) + 1
		ops = append(ops, o)
	}
	return ops, r
}

// bytesOf is the other direction, as far as a small history can say it: times
// and leases are scaled to fit.
func bytesOf(ops []Op, r Rules) []byte {
	ops = slices.Clone(ops)
	slices.SortStableFunc(ops, byCall)
	longest := int64(1)
	for i, o := range ops {
		if i > 0 {
			longest = max(longest, (o.Call-ops[i-1].Call)*8)
		}
		if o.Return < Forever {
			longest = max(longest, o.Return-o.Call)
		}
		if o.Lease < Forever {
			longest = max(longest, o.Lease)
		}
	}
	scale := func(n int64) byte { return byte(min(n, longest) * 250 / longest) }
	flag := func(b bool, v byte) byte {
		if b {
			return v
		}
		return 0
	}
	data := []byte{flag(r.Reentrant, 1) | flag(r.Loose, 6) | byte(min(r.Slack, 3))<<3}
	var before int64
	for _, o := range ops {
		d := [opBytes]byte{
			byte(o.Owner-1)&3 | byte(o.Kind)<<2 | flag(o.Crashed, 64) | flag(o.Renewed, 128),
			scale(o.Call-before)&31 | byte(min(o.Count, 3))<<5, scale(o.Return - o.Call), scale(o.Lease), 14, byte(min(o.Token, 7)),
		}
		if o.Lease >= Forever {
			d[3] = 255
		}
		before = o.Call
		data = append(data, d[:]...)
	}
	return data
}

// addSeeds gives the fuzzer histories of a right lock, and the same a little
// changed.
func addSeeds(f *testing.F) {
	r := rand.New(rand.NewPCG(16, 17))
	for n := range 100 {
		m := randomMix(r)
		f.Add(bytesOf(simulated(r, m, 1+r.IntN(4), 1+r.IntN(4), n%2), m.rules()))
	}
}

// No step of the fast judge differs from porcupine, nor from trying every order and every
// instant where that has all operations.
func FuzzFastJudge(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		ops, r := opsOf(data)
		if _, d := compare(ops, r, 500*time.Millisecond); d != "" {
			t.Fatal(d)
		}
		if _, d := enumerate(ops, r); d != "" {
			t.Fatal(d)
		}
	})
}

// The bytes of a history are that history again, where it fits into them.
func TestBytesOfOps(t *testing.T) {
	ops := []Op{
		{Owner: 1, Kind: GotLock, Call: 0, Return: 40, Lease: 250, Count: 1, Token: 3},
		{Owner: 2, Kind: FoundBusy, Call: 30, Return: 35, Lease: Forever},
		{Owner: 1, Kind: GaveBack, Call: 50, Return: 52, Lease: Forever},
		{Owner: 3, Kind: MaybeGot, Call: 60, Return: Forever, Lease: Forever, Crashed: true},
	}
	for i := range ops {
		o := &ops[i]
		o.ID, o.Asked = int64(i+1), o.Call
	}
	r := Rules{Reentrant: true, Slack: 2}
	got, gotRules := opsOf(bytesOf(ops, r))
	if !slices.Equal(got, ops) || gotRules != r {
		t.Errorf("got %+v%s\nwant %+v%s", gotRules, listing(got), r, listing(ops))
	}
}
