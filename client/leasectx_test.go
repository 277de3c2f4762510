package client_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/client"
)

// Whoever asks at the deadline, while another goroutine is about to end the lease,
// is told no less.
func TestErrIsSetForAllWhoAskAtTheDeadline(t *testing.T) {
	simulate(t, func(w *world) {
		c := w.client(client.WithTTL(3*time.Second), client.WithoutRenewal(), client.Reentrant())
		var work sync.WaitGroup
		for i := range 200 {
			key := fmt.Sprint("k", i)
			l := must[*client.Lease](t)(c.Acquire(w.ctx, key))
			detached := must[*client.Lease](t)(c.Acquire(context.WithoutCancel(l.Context()), key))
			for j := range 8 {
				work.Go(func() {
					asked := []*client.Lease{l, detached}[j%2]
					time.Sleep(time.Until(l.Deadline()))
					if cause := context.Cause(asked.Context()); !errors.Is(cause, client.ErrLost) {
						t.Errorf("nested %v: cause %v", asked != l, cause)
					}
				})
			}
		}
		work.Wait()
	})
}
