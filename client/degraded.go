package client

// Disinherit gives back the tenure that the call was passed and has not used, if any:
// for a layer that is about to wait for something else than the lock in Redis, which
// nobody renews meanwhile.
func (c *Call) Disinherit() { c.disinherit() }

// SetDegraded notes that degraded mode decided the call: it granted the lease, or it
// refused the call. reason is one of a few words, for traces.
func (c *Call) SetDegraded(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.degraded = reason
}

// Degraded returns the reason that SetDegraded noted last, empty if there is none.
func (c *Call) Degraded() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.degraded
}
