// Package backoff repeats attempts: the retry layer of the pipeline, and the
// policies that say how long it pauses between them.
//
// Retry tells two things apart. A lock that is held is waited for, by a jittered
// poll, until the context of the call ends: there is no hidden number of tries. A
// Redis that fails gets a few tries with growing pauses, and a budget over all
// calls keeps an outage from being multiplied by the retries of everybody.
//
// A Policy is a recipe over github.com/cenkalti/backoff/v4, whose BackOffs are not
// safe to share: each call that has to pause makes its own, and a call that gets
// the lock at once makes none.
package backoff
