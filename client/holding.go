package client

// Holding returns what those learn who wait, inside this process, for the lease that
// the call got: who holds it, since when by this process's clock, and the holder's
// span. It is nil where the call has got none.
func (c *Call) Holding() *HeldError {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lease == nil {
		return nil
	}
	return &HeldError{Local: true, Holder: c.client.identity, Since: c.lease.hold.granted, Traceparent: c.traceparent}
}
