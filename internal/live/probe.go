package live

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
)

// ask compares the shadow with the node's answers: at first until that succeeds,
// and then from time to time.
func (o *observer) ask(ctx context.Context, broken <-chan struct{}) {
	first := true
	for ctx.Err() == nil {
		compared, err := o.compare(ctx, first)
		if err != nil && ctx.Err() == nil {
			o.truth.doubt(o.srv, err)
		}
		first = first && !compared
		wait := watchEvery
		if first {
			wait = reconnectEvery
		}
		select {
		case <-time.After(wait):
		case <-broken:
			return
		case <-ctx.Done():
			return
		}
	}
}

// asks is the number of attempts to ask a node between two of its changes.
const asks = 5

// compare asks the node for its data and reports changes that the stream has not
// shown. It returns false if the node does not answer, or changes too often for a
// comparison.
func (o *observer) compare(ctx context.Context, first bool) (bool, error) {
	for range asks {
		o.mu.Lock()
		keys := o.shadow.keys()
		o.mu.Unlock()
		if k := o.truth.servers.RunKey(); o.srv.IsExternal() && !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
		if answered, compared, err := o.compareKeys(ctx, keys, first); !answered || compared {
			return compared, err
		}
	}
	return false, nil
}

// compareKeys asks the node once for the given keys, and for its other ones.
func (o *observer) compareKeys(ctx context.Context, keys []string, first bool) (answered, compared bool, err error) {
	found, err := o.inspect(ctx, keys)
	for err == nil && found != nil && len(found.unknown) > 0 {
		keys = append(slices.Collect(maps.Keys(found.values)), found.unknown...)
		found, err = o.inspect(ctx, keys)
	}
	if err != nil || found == nil {
		return false, false, nil // it is down, or about to be
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.stoodStill(found) {
		return true, false, nil
	}
	return true, true, o.reconcile(found, first)
}

// stoodStill reports whether a finding can be compared with the shadow: there was
// no change meanwhile, and it has every key of the shadow. A server does not list
// an expired key, and reports the expiry only when somebody asks for the key.
func (o *observer) stoodStill(f *finding) bool {
	for k := range o.shadow.state {
		if _, asked := f.values[k]; !asked {
			return false
		}
	}
	return f.begin.changes == f.end.changes && f.end.changes == o.changes && o.group == nil && o.ended == nil
}

// finding is the data of a node by its own answers.
type finding struct {
	replica    bool
	values     map[string]keyspace.Value // of every key that was asked for
	unknown    []string                  // lock keys that were not
	begin, end mark                      // where the stream was before and after
}

// inspect asks the node for the given keys. It returns nil if the stream breaks
// meanwhile.
func (o *observer) inspect(ctx context.Context, keys []string) (*finding, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	before, begin, broken := o.expect()
	after, end, _ := o.expect()
	if begin == nil || end == nil {
		return nil, nil
	}
	defer o.forget(before)
	defer o.forget(after)
	p := o.srv.Client().Pipeline()
	if o.srv.InCluster() {
		p.Do(ctx, "readonly") // a replica answers for itself
	}
	p.Echo(ctx, before)
	role, all := p.Do(ctx, "role"), redis.NewStringSliceCmd(ctx)
	if !o.srv.IsExternal() { // others would have to wait meanwhile, and it is known which key it is
		all = p.Keys(ctx, "*")
	}
	reads := map[string]read{}
	for _, k := range keys {
		reads[k] = ask(ctx, p, k)
	}
	done := p.Echo(ctx, after)
	_, _ = p.Exec(ctx) // its error is that of any command, and some have to fail
	if err := errors.Join(done.Err(), role.Err(), all.Err()); err != nil {
		return nil, err
	}
	now, err := role.Slice()
	f := &finding{replica: err == nil && len(now) > 0 && now[0] == "slave", values: map[string]keyspace.Value{}}
	for k, r := range reads {
		v, err := r.value()
		if err != nil {
			return nil, fmt.Errorf("read key %q: %w", k, err)
		}
		f.values[k] = v
	}
	for _, k := range all.Val() {
		if _, known := reads[k]; !known && o.truth.lockKey(k) {
			f.unknown = append(f.unknown, k)
		}
	}
	for _, m := range []struct {
		seen chan mark
		to   *mark
	}{{begin, &f.begin}, {end, &f.end}} {
		select {
		case *m.to = <-m.seen:
		case <-broken:
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return f, nil
}

// expiryOff is the possible error of the shadow's moment of expiry. A server
// counts it from the start of a command and reports it at the end; on a busy
// machine it may wait in between.
const expiryOff = 300 * time.Millisecond

// alike reports whether two values are equal as far as the shadow can know. A
// server makes up the ids of stream entries from its clock.
func alike(a, b keyspace.Value) bool {
	if a.ExpireAt.IsZero() == b.ExpireAt.IsZero() && a.ExpireAt.Sub(b.ExpireAt).Abs() <= expiryOff {
		a.ExpireAt = b.ExpireAt
	}
	return slices.EqualFunc(a.Entries, b.Entries, func(x, y keyspace.Entry) bool { return slices.Equal(x.Fields, y.Fields) }) &&
		withoutEntries(a).Equal(withoutEntries(b))
}

func withoutEntries(v keyspace.Value) keyspace.Value {
	v.Entries = nil
	return v
}

// reconcile reports the differences between the node and the shadow; the finding
// has every key of the shadow. Differences are right after a restart, and on a
// replica, which may have received all data anew. On a primary they mean that the
// stream is wrong.
func (o *observer) reconcile(f *finding, first bool) error {
	wasReplica := o.replica
	o.replica, o.attached = f.replica, true
	role := rolePrimary
	if f.replica {
		role = roleReplica
	}
	stays := !f.replica && !wasReplica // and gets its data from no other node
	var wrong []string
	for _, k := range slices.Sorted(maps.Keys(f.values)) {
		before, after := o.shadow.state[k], f.values[k]
		if alike(before, after) {
			if !o.srv.TellsEvents() {
				o.shadow.keep(k, after) // which has its expiry to the millisecond
			}
			continue
		}
		if !o.srv.TellsEvents() && justOver(before, after, o.shown(f.end.at)) {
			continue
		}
		if stays && !(first && o.restarted) {
			wrong = append(wrong, fmt.Sprintf("%q is %+v and should be %+v", k, after, before))
		}
		c := keyspace.Change{Key: k, Role: role, Cause: "replication", Before: before, After: after, At: f.end.at}
		if first && o.restarted && (!f.replica || !after.Exists()) {
			c.Cause = "restart"
		}
		o.emit(o.ranOut(c), time.Now())
		if err := o.shadow.set(k, after); err != nil {
			return err
		}
	}
	if o.srv.IsExternal() && f.replica {
		return errors.New("it has become a replica")
	}
	if stays && first && !o.restarted {
		return errors.New("its stream broke while it was running")
	}
	if wrong != nil {
		return errors.New("its stream is incomplete: " + strings.Join(wrong, "; "))
	}
	return nil
}
