// Package middleware has the layers of the pipeline that need nothing but the
// client: each is a client.Middleware, to be given to client.WithLayer, and none
// knows of the others.
//
//   - Timeout bounds the wait of a call, never its lease.
//   - Gate lines up the callers of this process, so that only those ask Redis who can
//     hold the lock together.
//   - AttemptTimeout bounds one attempt.
//   - Log writes a line when something happens to a lease that its holder should know.
//   - When applies another layer to some calls only.
//
// They are written to stand in the order of this list, the gate outside whatever
// repeats attempts and the attempt time-out inside it, as holdfast.New has them.
package middleware
