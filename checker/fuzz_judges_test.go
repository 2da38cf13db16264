package checker

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
func opsOf(data []byte) ([]lockOp, rules) {
	if len(data) == 0 {
		return nil, rules{}
	}
	b := data[0]
	r := rules{reentrant: b&1 > 0, loose: b&6 == 6, slack: int64(b >> 3 & 3)}
	mayOverlap := b&224 == 224
	free := map[int32]int64{} // when the owner may go on
	var ops []lockOp
	var call int64
	for d := data[1:]; len(d) >= opBytes && len(ops) < opsMost; d = d[opBytes:] {
		call += int64(d[1] & 31)
		o := lockOp{
			id: int64(len(ops) + 1), owner: 1 + int32(d[0]&3), kind: opKind(d[0] >> 2 & 15 % (uint8(inspected) + 1)),
			crashed: d[0]&64 > 0, renewed: d[0]&128 > 0, count: int32(d[1] >> 5 & 3), lease: int64(d[3]),
		}
		if !mayOverlap {
			call = max(call, free[o.owner])
		}
		o.call, o.asked, o.ret = call, call-int64(d[4]&1)*int64(d[4]>>5), call+int64(d[2])
		if d[3] == 255 || (o.kind != gotLock && o.kind != maybeGot && o.kind != tookAndGave) {
			o.lease = forever
		}
		unclear := o.kind == maybeGot || o.kind == maybeGave
		if o.renewed = o.renewed && o.lease < forever; unclear && d[4]&14 > 0 {
			o.ret = forever // else it took effect at a known time, if at all
		}
		o.crashed = o.crashed && unclear
		if unclear {
			o.count = 0
		}
		if o.kind == gotLock {
			o.token = uint64(d[5] & 7)
		}
		free[o.owner] = min(o.ret, o.call+int64(d[2])) + 1
		ops = append(ops, o)
	}
	return ops, r
}

// bytesOf is the other direction, as far as a small history can say it: times
// and leases are scaled to fit.
func bytesOf(ops []lockOp, r rules) []byte {
	ops = slices.Clone(ops)
	slices.SortStableFunc(ops, byCall)
	longest := int64(1)
	for i, o := range ops {
		if i > 0 {
			longest = max(longest, (o.call-ops[i-1].call)*8)
		}
		if o.ret < forever {
			longest = max(longest, o.ret-o.call)
		}
		if o.lease < forever {
			longest = max(longest, o.lease)
		}
	}
	scale := func(n int64) byte { return byte(min(n, longest) * 250 / longest) }
	flag := func(b bool, v byte) byte {
		if b {
			return v
		}
		return 0
	}
	data := []byte{flag(r.reentrant, 1) | flag(r.loose, 6) | byte(min(r.slack, 3))<<3}
	var before int64
	for _, o := range ops {
		d := [opBytes]byte{
			byte(o.owner-1)&3 | byte(o.kind)<<2 | flag(o.crashed, 64) | flag(o.renewed, 128),
			scale(o.call-before)&31 | byte(min(o.count, 3))<<5, scale(o.ret - o.call), scale(o.lease), 14, byte(min(o.token, 7)),
		}
		if o.lease >= forever {
			d[3] = 255
		}
		before = o.call
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

// No step of the fast judge, nor the stream, differs from porcupine, nor from
// trying every order and every instant where that knows the operations.
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
	ops := []lockOp{
		{owner: 1, kind: gotLock, call: 0, ret: 40, lease: 250, count: 1, token: 3},
		{owner: 2, kind: foundBusy, call: 30, ret: 35, lease: forever},
		{owner: 1, kind: gaveBack, call: 50, ret: 52, lease: forever},
		{owner: 3, kind: maybeGot, call: 60, ret: forever, lease: forever, crashed: true},
	}
	for i := range ops {
		o := &ops[i]
		o.id, o.asked = int64(i+1), o.call
	}
	r := rules{reentrant: true, slack: 2}
	got, gotRules := opsOf(bytesOf(ops, r))
	if !slices.Equal(got, ops) || gotRules != r {
		t.Errorf("got %+v%s\nwant %+v%s", gotRules, listing(got), r, listing(ops))
	}
}
