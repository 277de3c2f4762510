package client

import (
	"net/url"
	"strconv"
	"strings"
	"time"
)

// record is the value of a lock's key, as the scripts write it:
//
//	hf1 token=<token> fence=<n> since=<ms> holder=<identity> owner=<hash> mode=<mode> min=<ms> trace=<traceparent>
//
// An operator reads it with GET. "-" stands for nothing. The first field is
// reserved=<token> from a hand-off until the new holder speaks up, and
// resting=<token> while the lock rests for its minimum hold. mode is x, s or
// n<slots>; of several who hold the lock together one has its record here.
type record struct {
	token       string
	resting     bool
	mode        Mode
	slots       int
	fence       uint64
	since       time.Time
	holder      string
	traceparent string
}

// parseRecord takes what is well formed from s, which anybody may have written.
func parseRecord(s string) (rec record, ok bool) {
	rest, ok := strings.CutPrefix(s, "hf1 ")
	if !ok || len(s) > 512 {
		return record{}, false
	}
	for f := range strings.SplitSeq(rest, " ") {
		name, value, ok := strings.Cut(f, "=")
		if !ok {
			return record{}, false
		}
		if value == "-" {
			continue
		}
		switch name {
		case "token", "reserved", "resting":
			rec.token, rec.resting = value, name == "resting"
		case "fence":
			rec.fence, _ = strconv.ParseUint(value, 10, 53)
		case "since":
			if ms, err := strconv.ParseInt(value, 10, 53); err == nil {
				rec.since = time.UnixMilli(ms)
			}
		case "holder":
			if h, err := url.PathUnescape(value); err == nil {
				rec.holder = h
			}
		case "mode":
			rec.mode, rec.slots = parseMode(value)
		case "trace":
			rec.traceparent = value
		}
	}
	return rec, rec.token != ""
}

func parseMode(s string) (Mode, int) {
	if s == "s" {
		return SharedMode, 0
	}
	if n, ok := strings.CutPrefix(s, "n"); ok {
		slots, _ := strconv.Atoi(n)
		return SlotsMode, slots
	}
	return Exclusive, 0
}

func heldError(record string, left time.Duration) *HeldError {
	rec, _ := parseRecord(record)
	return &HeldError{
		Resting:     rec.resting,
		Holder:      rec.holder,
		Since:       rec.since,
		TTL:         max(left, 0),
		Traceparent: rec.traceparent,
	}
}
