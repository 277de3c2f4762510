//go:build !linux

package delay

import "time"

func napUntil(due time.Time) { time.Sleep(time.Until(due)) }
