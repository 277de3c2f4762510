package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-go/holdfast"
	"github.com/holdfast-go/holdfast/client"
)

const (
	classStock   = "stock"   // short, and wanted by many
	classPayout  = "payout"  // long: one waits for another process
	classCatalog = "catalog" // read by many at once
	classReport  = "report"  // may go on without Redis
	classLeader  = "leader"  // one of the workers has it
)

// driver is the load of one worker.
type driver struct {
	locks  *holdfast.Client
	tracer trace.Tracer
	worker int
}

// drive works until ctx ends.
func drive(ctx context.Context, locks *holdfast.Client, worker int, tracer trace.Tracer) {
	d := &driver{locks, tracer, worker}
	var work sync.WaitGroup
	defer work.Wait()
	forever := func(job func(context.Context)) {
		work.Go(func() {
			for ctx.Err() == nil {
				job(ctx)
				pause(ctx, time.Duration(20+rand.IntN(80))*time.Millisecond)
			}
		})
	}
	for range 6 {
		forever(d.sell)
	}
	for range 2 {
		forever(d.pay)
		forever(d.read)
	}
	forever(d.report)
	forever(d.lead)
	if worker == 1 {
		work.Go(func() { d.meddle(ctx) })
	}
}

// holding does something for d under the lock on key: what a handler of a service is.
func (d *driver) holding(ctx context.Context, what, class, key string, hold time.Duration, opts ...holdfast.AcquireOption) {
	ctx, span := d.tracer.Start(ctx, what)
	defer span.End()
	opts = append(opts, client.WithClass(class), client.WithWaitTimeout(6*time.Second))
	lease, err := d.locks.Acquire(ctx, key, opts...)
	if err != nil {
		pause(ctx, 100*time.Millisecond) // the caller of this would be told so
		return
	}
	defer lease.Release(ctx)
	pause(lease.Context(), hold)
}

func (d *driver) sell(ctx context.Context) {
	d.holding(ctx, "POST /order", classStock, fmt.Sprintf("item-%d", rand.IntN(3)), time.Duration(5+rand.IntN(25))*time.Millisecond)
}

func (d *driver) pay(ctx context.Context) {
	d.holding(ctx, "pay out", classPayout, fmt.Sprintf("customer-%d", rand.IntN(2)), 700*time.Millisecond)
}

func (d *driver) read(ctx context.Context) {
	d.holding(ctx, "GET /catalog", classCatalog, "prices", 30*time.Millisecond, client.Shared())
}

func (d *driver) report(ctx context.Context) {
	d.holding(ctx, "report", classReport, "daily", 300*time.Millisecond)
}

func (d *driver) lead(ctx context.Context) {
	d.holding(ctx, "lead", classLeader, "scheduler", time.Hour)
}

// meddle breaks a lock under its holder a few times, as an operator may. The holder then
// finds at the release that it did not hold it any more.
func (d *driver) meddle(ctx context.Context) {
	for range 5 {
		lease, err := d.locks.Acquire(ctx, "customer-9", client.WithClass(classPayout))
		if err != nil {
			return
		}
		_ = d.locks.Break(ctx, "customer-9")
		_ = lease.Release(ctx)
		pause(ctx, 4*time.Second)
	}
}
