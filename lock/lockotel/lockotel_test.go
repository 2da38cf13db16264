package lockotel_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/lock/lockotel"
)

// Each call is a span below that of its caller, with its outcome; a lock that is busy
// is no error. Metrics count all of them.
func TestObserver(t *testing.T) {
	server := miniredis.RunT(t)
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr(), MaxRetries: -1})
	defer rdb.Close()
	spans := tracetest.NewSpanRecorder()
	tracers := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	reader := sdkmetric.NewManualReader()
	observer, err := lockotel.New(lockotel.WithTracerProvider(tracers), lockotel.WithNamesInMetrics(),
		lockotel.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))))
	if err != nil {
		t.Fatal(err)
	}
	client, err := lock.New(rdb, lock.WithObserver(observer))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()

	ctx, request := tracers.Tracer("test").Start(context.Background(), "request")
	h, err := client.Acquire(ctx, "orders")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Acquire(ctx, "orders", lock.Wait(50*time.Millisecond)); !errors.Is(err, lock.ErrBusy) {
		t.Fatal(err)
	}
	if err := h.Release(ctx); err != nil {
		t.Fatal(err)
	}
	server.SetError("LOADING")
	if _, err := client.Acquire(ctx, "orders", lock.Wait(0)); !errors.Is(err, lock.ErrRefused) {
		t.Fatal(err)
	}
	request.End()

	var got []string
	for _, s := range spans.Ended() {
		if s.Name() == "request" {
			continue
		}
		if s.Parent().SpanID() != request.SpanContext().SpanID() {
			t.Errorf("%s has another parent", s.Name())
		}
		if s.Name() == "lock acquire" && value(s.Attributes(), "lock.outcome") == "busy" && s.EndTime().Sub(s.StartTime()) < 50*time.Millisecond {
			t.Error("the wait is not in its span")
		}
		got = append(got, fmt.Sprint(s.Name(), " ", value(s.Attributes(), "lock.name"), " ", value(s.Attributes(), "lock.outcome"), " ", s.Status().Code == codes.Error))
	}
	want := []string{"lock acquire orders granted false", "lock acquire orders busy false", "lock release orders released false", "lock acquire orders refused true"}
	if !slices.Equal(got, want) {
		t.Errorf("spans %q, want %q", got, want)
	}

	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	counts := map[string]uint64{}
	for _, s := range all.ScopeMetrics {
		for _, m := range s.Metrics {
			if h, ok := m.Data.(metricdata.Histogram[float64]); ok {
				for _, p := range h.DataPoints {
					counts[m.Name+" "+value(p.Attributes.ToSlice(), "lock.outcome")] += p.Count
				}
			}
		}
	}
	for what, n := range map[string]uint64{
		"lock.acquire.duration granted": 1, "lock.acquire.duration busy": 1, "lock.acquire.duration refused": 1, "lock.hold.duration released": 1,
	} {
		if counts[what] != n {
			t.Errorf("%s: %d, want %d; all are %v", what, counts[what], n, counts)
		}
	}
}

func value(set []attribute.KeyValue, key string) string {
	for _, a := range set {
		if string(a.Key) == key {
			return a.Value.AsString()
		}
	}
	return ""
}

func Example() {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})
	observer, err := lockotel.New()
	if err != nil {
		panic(err)
	}
	client, err := lock.New(rdb, lock.WithObserver(observer))
	if err != nil {
		panic(err)
	}
	defer client.Close()
}
