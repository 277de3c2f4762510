package telemetry

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-go/holdfast/client"
)

// Attributes of spans, beside those of labelKeys.
const (
	attrWait          = attribute.Key("holdfast.wait")
	attrAttempts      = attribute.Key("holdfast.attempts")
	attrShortCircuits = attribute.Key("holdfast.short_circuits")
	attrFence         = attribute.Key("holdfast.fence")
	attrPosition      = attribute.Key("holdfast.queue.position")
	attrDegraded      = attribute.Key("holdfast.degraded")
	attrReason        = attribute.Key("holdfast.degraded.reason")
	attrKey           = attribute.Key("holdfast.key")
	attrFailures      = attribute.Key("holdfast.renewal.failures")
	attrHolder        = attribute.Key("holdfast.holder.identity")
	attrHeldFor       = attribute.Key("holdfast.holder.held_for")
	attrHolderLocal   = attribute.Key("holdfast.holder.local")
	attrHolderResting = attribute.Key("holdfast.holder.resting")
	attrBlocker       = attribute.Key("holdfast.blocker")
)

// withKey adds the key to the options of a span, if that is wanted.
func (t *Telemetry) withKey(opts spanOptions, key string) spanOptions {
	if !t.keyAttribute {
		return opts
	}
	return append(slices.Clip(opts), trace.WithAttributes(attrKey.String(valid(key))))
}

// valid is s as an exporter takes it: a whole batch of spans may fail for one
// string that is not UTF-8.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// explain is the text of err for a span's status. Where the key is not wanted on
// spans, a text that shows it gives way to errorType.
func (t *Telemetry) explain(err error, key, errorType string) string {
	var e *client.Error
	if errors.As(err, &e) {
		err = e.Err
	}
	if err == nil {
		return errorType
	}
	text := err.Error()
	if !t.keyAttribute {
		quoted := strconv.Quote(key)
		if strings.Contains(text, key) || strings.Contains(text, quoted[1:len(quoted)-1]) {
			return errorType
		}
	}
	return valid(text)
}
