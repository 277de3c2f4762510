package middleware

import (
	"context"
	"errors"
	"testing"

	"github.com/holdfast-go/holdfast/client"
)

func TestGateLetsReadersInTogether(t *testing.T) {
	atGate(t, func(a *arrivals) {
		one, two := a.comes("reader", client.Shared()), a.comes("reader", client.Shared())
		a.in(one, two)
		a.refused("a writer")
		writer := a.comes("writer")
		a.goes(one)
		a.waits(writer)
		a.goes(two)
		a.in(writer)
		a.refused("a reader", client.Shared())
		a.goes(writer)
	})
}

// Neither readers nor writers starve.
func TestGateIsFairBetweenReadersAndWriters(t *testing.T) {
	atGate(t, func(a *arrivals) {
		first := a.comes("first reader", client.Shared())
		writer := a.comes("writer")
		second, third := a.comes("second reader", client.Shared()), a.comes("third reader", client.Shared())
		last := a.comes("last writer")
		fourth := a.comes("fourth reader", client.Shared())
		a.waits(writer, second, third, last, fourth)
		a.refused("a reader who would overtake a writer", client.Shared())

		a.goes(first)
		a.in(writer)
		a.waits(second, third, last, fourth)
		a.goes(writer)
		a.in(second, third)
		a.waits(last, fourth)
		a.goes(third)
		a.waits(last, fourth)
		a.goes(second)
		a.in(last)
		a.waits(fourth)
		a.goes(last)
		a.goes(fourth)
	})
}

func TestGateLetsReadersBehindACancelledWriterFlow(t *testing.T) {
	atGate(t, func(a *arrivals) {
		first := a.comes("first reader", client.Shared())
		writer := a.comes("writer")
		second := a.comes("second reader", client.Shared())
		other := a.comes("other writer")
		third := a.comes("third reader", client.Shared())
		writer.leave()
		a.in(second)
		a.waits(other, third)
		other.leave()
		a.in(third)
		for _, w := range []*comer{writer, other} {
			if r := <-w.done; !isLocal(r.err) || !errors.Is(r.err, context.Canceled) {
				t.Errorf("%s: %v", w.name, r.err)
			}
		}
		a.goes(first, second, third)
	})
}

func TestGateLetsAsManyInAsThereAreSlots(t *testing.T) {
	atGate(t, func(a *arrivals) {
		three := client.Slots(3)
		one, two, three3 := a.comes("first", three), a.comes("second", three), a.comes("third", three)
		a.in(one, two, three3)
		a.refused("a fourth", three)
		fourth, fifth := a.comes("fourth", three), a.comes("fifth", three)
		a.waits(fourth, fifth)
		a.goes(two)
		a.in(fourth)
		a.waits(fifth)
		a.goes(one, three3)
		a.in(fifth)
		sixth := a.comes("sixth", three)
		a.in(sixth)
		a.refused("a seventh", three)
		a.goes(fourth, fifth, sixth)
	})
}

// Those who hold a lock in another way, or with another number, are not joined.
func TestGateKeepsKindsApart(t *testing.T) {
	kinds := map[string][]client.AcquireOption{
		"exclusive": nil, "shared": {client.Shared()}, "two": {client.Slots(2)}, // another number is a mistake
	}
	for inside, has := range kinds {
		for outside, wants := range kinds {
			if inside == outside {
				continue
			}
			t.Run(outside+" beside "+inside, func(t *testing.T) {
				atGate(t, func(a *arrivals) {
					holder := a.comes(inside, has...)
					a.in(holder)
					a.refused(outside, wants...)
					waiter := a.comes(outside, wants...)
					a.waits(waiter)
					behind := a.comes(inside, has...)
					a.waits(behind)
					a.goes(holder, waiter, behind)
				})
			})
		}
	}
}

func TestGateLetsABargerOvertake(t *testing.T) {
	for name, kind := range map[string]client.AcquireOption{"shared": client.Shared(), "slots": client.Slots(3)} {
		t.Run(name, func(t *testing.T) {
			atGate(t, func(a *arrivals) {
				first := a.comes("first", kind)
				writer := a.comes("writer")
				fair := a.comes("one who does not barge", kind)
				barger := a.comes("barger", kind, client.Barging())
				a.waits(writer, fair)
				a.in(barger)
				l, err := a.TryAcquire(a.Context(), "k", kind, client.Barging())
				if err != nil {
					t.Fatal(err)
				}
				a.refused("a barger in another kind", client.Barging())
				other := a.comes("a barging writer", client.Barging())
				a.waits(other)
				release(t, l)
				a.goes(first, barger)
				a.goes(writer)
				a.goes(fair, other)
			})
		})
	}
}

// An owner that reads goes before a writer who waits for it.
func TestGateLetsAReadingOwnerInOverWaiters(t *testing.T) {
	atGate(t, func(a *arrivals) {
		x := client.WithOwner("x")
		first, stranger := a.comes("x", x, client.Shared()), a.comes("stranger", client.WithOwner("y"), client.Shared())
		writer := a.comes("writer")
		again := a.comes("x again", x, client.Shared())
		a.in(first, stranger, again)
		a.refused("another owner", client.WithOwner("z"), client.Shared())
		a.goes(first, again)
		a.refused("x of before", x, client.Shared())
		a.goes(stranger, writer)
	})
}

func TestGateRefusesAnUpgrade(t *testing.T) {
	atGate(t, func(a *arrivals) {
		x := client.WithOwner("x")
		reader := a.comes("x", x, client.Shared())
		a.in(reader)
		for name, try := range map[string]func(context.Context, string, ...client.AcquireOption) (*client.Lease, error){
			"Acquire": a.Acquire, "TryAcquire": a.TryAcquire,
		} {
			if _, err := try(a.Context(), "k", x); !errors.Is(err, client.ErrInvalid) || errors.Is(err, client.ErrNotAcquired) {
				t.Errorf("%s: got %v, want ErrInvalid", name, err)
			}
		}
		other := a.comes("y", client.WithOwner("y"))
		a.waits(other)
		a.goes(reader, other)
	})
}
