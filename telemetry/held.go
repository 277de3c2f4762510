package telemetry

import (
	"runtime/pprof"
	"sync"
)

// HeldProfile is the name of the pprof profile of the leases that are held, by the
// stack that acquired them: go tool pprof http://host/debug/pprof/holdfast.held, or
// with ?debug=1 as text. Clients with a Page feed it.
const HeldProfile = "holdfast.held"

// held is the profile, made when it is first needed.
var held = sync.OnceValue(func() *pprof.Profile {
	if p := pprof.Lookup(HeldProfile); p != nil {
		return p
	}
	return pprof.NewProfile(HeldProfile)
})

// untilAcquire is how many frames there are between the caller of profile and
// Client.Acquire, where telemetry is the outermost layer: watch, end and its defer, the
// layer, enter, and the acquire that Acquire and TryAcquire share.
const untilAcquire = 6

// profile has the lease in the profile until it ends.
func (w *watcher) profile() {
	if w.t.page != nil {
		held().Add(w, untilAcquire+1)
	}
}

func (w *watcher) unprofile() {
	if w.t.page != nil {
		held().Remove(w)
	}
}
