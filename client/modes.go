package client

// Shared takes the lock together with others who take it so: readers together, a
// writer alone, first come, first served between them, so that neither starves.
// Each reader's lease has its own TTL and fence. An exclusive acquire by one who
// holds the lock shared (made under the lease's context, or by the same WithOwner)
// would wait for itself: it fails at once with ErrInvalid. The other way round
// works; see Lease.Downgrade.
func Shared() AcquireOption {
	return acquireOption(func(a *acquireOptions) error {
		a.mode, a.slots = SharedMode, 0
		return nil
	})
}

// Slots lets up to n leases hold the lock together: a semaphore whose permits
// expire each by its own TTL, and that a release frees once. Another n for a key
// that is held is ErrInvalid. n is 1 to 1,000,000.
func Slots(n int) AcquireOption {
	return acquireOption(func(a *acquireOptions) error {
		if n < 1 || n > maxSlots {
			return invalid("slots must be 1 to %d, are %d", maxSlots, n)
		}
		a.mode, a.slots = SlotsMode, n
		return nil
	})
}

// Barging lets an acquire in over those who wait, wherever the lock is free or its
// holders admit it: a reader beside readers though a writer waits. Default: the order
// is fair, first come, first served. One that has to wait all the same keeps its
// place in the order.
func Barging() SharedOption {
	return sharedOption(func(a *acquireOptions) error {
		a.barge = true
		return nil
	})
}
