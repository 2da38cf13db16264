// Package lockotel tells OpenTelemetry what the locks of package lock go through.
package lockotel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-go/holdfast/lock"
)

const scope = "github.com/holdfast-go/holdfast/lock/lockotel"

// Option changes an observer.
type Option func(*options)

type options struct {
	tracers trace.TracerProvider
	meters  metric.MeterProvider
	named   bool
}

// WithTracerProvider sets where spans go. The default is the global provider.
func WithTracerProvider(p trace.TracerProvider) Option { return func(o *options) { o.tracers = p } }

// WithMeterProvider sets where metrics go. The default is the global provider.
func WithMeterProvider(p metric.MeterProvider) Option { return func(o *options) { o.meters = p } }

// WithNamesInMetrics puts the name of the lock into metrics. Do that only where
// names are few: each one is a time series of its own. Spans always have it.
func WithNamesInMetrics() Option { return func(o *options) { o.named = true } }

// New returns an observer for [lock.WithObserver]. It makes a span for each call that
// acquires, "lock acquire", and for each that releases, "lock release". A span is a
// child of the one in the caller's context, and begins when the call began. That of an
// acquire has the outcome; a refusal because the lock was busy is no error.
//
// Metrics, with their units:
//
//	lock.acquire.duration   s  how long calls took that acquire, by lock.outcome
//	lock.hold.duration      s  how long locks were held, by lock.outcome: released or lost
//	lock.renewals           1  renewals, by lock.outcome: renewed or failed
//
// It returns an error when the provider refuses an instrument.
func New(opts ...Option) (lock.Observer, error) {
	o := options{tracers: otel.GetTracerProvider(), meters: otel.GetMeterProvider()}
	for _, opt := range opts {
		opt(&o)
	}
	tracer, meter := o.tracers.Tracer(scope), o.meters.Meter(scope)
	acquired, err1 := meter.Float64Histogram("lock.acquire.duration", metric.WithUnit("s"),
		metric.WithDescription("How long calls took that acquire a lock, waiting included."))
	held, err2 := meter.Float64Histogram("lock.hold.duration", metric.WithUnit("s"),
		metric.WithDescription("How long locks were held."))
	renewals, err3 := meter.Int64Counter("lock.renewals", metric.WithUnit("1"),
		metric.WithDescription("Renewals by the watchdog."))
	if err := errors.Join(err1, err2, err3); err != nil {
		return lock.Observer{}, fmt.Errorf("make instruments: %w", err)
	}
	with := func(name, outcome string) metric.MeasurementOption {
		set := []attribute.KeyValue{attribute.String("lock.outcome", outcome)}
		if o.named {
			set = append(set, attribute.String("lock.name", name))
		}
		return metric.WithAttributes(set...)
	}
	return lock.Observer{
		AcquireDone: func(ctx context.Context, r lock.AcquireResult) {
			outcome := outcomeOf(r.Err)
			acquired.Record(ctx, r.Took.Seconds(), with(r.Name, outcome))
			end := time.Now()
			_, span := tracer.Start(ctx, "lock acquire", trace.WithTimestamp(end.Add(-r.Took)), of(r.Name, r.Owner, outcome))
			if r.Err == nil {
				span.SetAttributes(attribute.Int("lock.count", r.Grant.Count), attribute.Bool("lock.renewed", r.Grant.Renewed))
			}
			fail(span, r.Err)
			span.End(trace.WithTimestamp(end))
		},
		ReleaseDone: func(ctx context.Context, r lock.ReleaseResult) {
			outcome := outcomeOf(r.Err)
			if r.Err == nil {
				outcome = "released"
				if r.Left == 0 {
					held.Record(ctx, r.Held.Seconds(), with(r.Name, outcome))
				}
			}
			_, span := tracer.Start(ctx, "lock release", of(r.Name, r.Owner, outcome))
			fail(span, r.Err)
			span.End()
		},
		Lost: func(name, _ string, d time.Duration) {
			held.Record(context.Background(), d.Seconds(), with(name, "lost"))
		},
		RenewDone: func(name, _ string, err error) {
			outcome := "renewed"
			if err != nil {
				outcome = "failed"
			}
			renewals.Add(context.Background(), 1, with(name, outcome))
		},
	}, nil
}

// of are the attributes that every span has.
func of(name, owner, outcome string) trace.SpanStartEventOption {
	return trace.WithAttributes(attribute.String("lock.name", name), attribute.String("lock.owner", owner), attribute.String("lock.outcome", outcome))
}

// fail marks the span of a call that went wrong.
func fail(span trace.Span, err error) {
	if err == nil || errors.Is(err, lock.ErrBusy) {
		return
	}
	span.RecordError(err)
	span.SetStatus(codes.Error, outcomeOf(err))
}

// outcomeOf is the class of an error in a word. An unknown outcome comes first: it is
// joined with the reason.
func outcomeOf(err error) string {
	classes := []struct {
		err  error
		word string
	}{
		{lock.ErrUnknown, "unknown"}, {lock.ErrRefused, "refused"}, {lock.ErrBusy, "busy"}, {lock.ErrLost, "lost"},
		{lock.ErrNotHeld, "not-held"}, {lock.ErrAcks, "acks"}, {lock.ErrClosed, "closed"},
		{context.Canceled, "canceled"}, {context.DeadlineExceeded, "canceled"},
	}
	if err == nil {
		return "granted"
	}
	for _, c := range classes {
		if errors.Is(err, c.err) {
			return c.word
		}
	}
	return "error"
}
