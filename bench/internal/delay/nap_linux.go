package delay

import (
	"syscall"
	"time"
)

// napUntil sleeps in the kernel: the timers of the Go runtime are late by up to a
// millisecond when the program has nothing else to do.
func napUntil(due time.Time) {
	for d := time.Until(due); d > 0; d = time.Until(due) {
		ts := syscall.NsecToTimespec(d.Nanoseconds())
		syscall.Nanosleep(&ts, nil)
	}
}
