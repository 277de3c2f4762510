package client

import (
	"context"
	"strings"
	"time"
)

// Bounds of what callers may give. maxIdentity and the fixed width of the other
// fields keep the holder record within 256 bytes.
const (
	minTTL      = time.Millisecond
	maxTTL      = 366 * 24 * time.Hour
	maxKey      = 4096
	maxPrefix   = 256
	maxClass    = 64
	maxOwner    = 64
	maxSlots    = 1_000_000
	maxKeys     = 128 // of AcquireAll: their script keeps everybody waiting
	maxIdentity = 64  // as it is written in the holder record
	// what a command may take, and at least gets
	maxCommandTimeout = time.Hour
	minCommandTimeout = time.Millisecond
	// renewal has to come before this share of the TTL has passed
	maxRenewalShare = 0.9
)

func checkTTL(what string, ttl time.Duration) error {
	switch {
	case ttl <= 0:
		return invalid("%s must be positive, is %v", what, ttl)
	case ttl < minTTL:
		return invalid("%s must be at least %v, is %v", what, minTTL, ttl)
	case ttl > maxTTL:
		return invalid("%s must be at most %v, is %v", what, maxTTL, ttl)
	}
	return nil
}

func checkRenewal(ttl, interval time.Duration) error {
	if interval > 0 && float64(interval) >= maxRenewalShare*float64(ttl) {
		return invalid("renewal interval %v must be below %v of the TTL %v", interval, maxRenewalShare, ttl)
	}
	return nil
}

func checkKey(ctx context.Context, key string) error {
	switch {
	case ctx == nil:
		return invalid("context is nil")
	case key == "":
		return invalid("key is empty")
	case len(key) > maxKey:
		return invalid("key must have at most %d bytes, has %d", maxKey, len(key))
	}
	return nil
}

func (a *acquireOptions) check() error {
	if a.noRenewal && a.renewInterval > 0 {
		return invalid("WithoutRenewal and WithRenewalInterval(%v) exclude each other", a.renewInterval)
	}
	if a.reentrant && a.owner != "" {
		return invalid("Reentrant and WithOwner exclude each other: the one nests by context, the other by identity")
	}
	if err := checkMode(a.mode, a.slots, a.owner, a.minHold); err != nil {
		return err
	}
	return checkRenewal(a.ttl, a.renewInterval)
}

func checkMode(mode Mode, slots int, owner string, minHold time.Duration) error {
	switch {
	case mode > SlotsMode:
		return invalid("there is no mode %d", mode)
	case mode == SlotsMode && (slots < 1 || slots > maxSlots):
		return invalid("slots must be 1 to %d, are %d", maxSlots, slots)
	case mode == SlotsMode && owner != "":
		return invalid("Slots and WithOwner exclude each other: each lease takes a slot, whoever asks")
	case mode != Exclusive && minHold > 0:
		return invalid("WithMinHold is for a lock that one holds alone, not for mode %s", mode)
	}
	return nil
}

func checkPrefix(prefix string) error {
	if strings.ContainsAny(prefix, "{}") {
		return invalid("prefix %q must not contain braces: they would move the keys of a lock to different slots", prefix)
	}
	return nil
}
