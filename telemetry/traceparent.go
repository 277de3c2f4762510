package telemetry

import (
	"encoding/hex"

	"go.opentelemetry.io/otel/trace"
)

// A traceparent of version 00 of W3C Trace Context:
//
//	00-<trace id, 32 digits>-<parent id, 16 digits>-<flags, 2 digits>
//
// all in lower-case hexadecimal.
const (
	traceparentLen = 55
	atTraceID      = 3
	atSpanID       = 36
	atFlags        = 53
)

// formatTraceparent is the traceparent of a valid span context.
func formatTraceparent(sc trace.SpanContext) string {
	var b [traceparentLen]byte
	traceID, spanID := sc.TraceID(), sc.SpanID()
	copy(b[:], "00-")
	hex.Encode(b[atTraceID:], traceID[:])
	b[atSpanID-1] = '-'
	hex.Encode(b[atSpanID:], spanID[:])
	b[atFlags-1] = '-'
	hex.Encode(b[atFlags:], []byte{byte(sc.TraceFlags())})
	return string(b[:])
}

// parseTraceparent reads what anybody may have written: what is not exactly a
// traceparent of version 00 is refused. Of the flags only the sampled one counts.
func parseTraceparent(s string) (trace.SpanContext, bool) {
	if len(s) != traceparentLen || s[:atTraceID] != "00-" || s[atSpanID-1] != '-' || s[atFlags-1] != '-' {
		return trace.SpanContext{}, false
	}
	traceID, err := trace.TraceIDFromHex(s[atTraceID : atSpanID-1])
	if err != nil {
		return trace.SpanContext{}, false
	}
	spanID, err := trace.SpanIDFromHex(s[atSpanID : atFlags-1])
	if err != nil {
		return trace.SpanContext{}, false
	}
	high, okHigh := hexDigit(s[atFlags])
	low, okLow := hexDigit(s[atFlags+1])
	if !okHigh || !okLow {
		return trace.SpanContext{}, false
	}
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: traceID, SpanID: spanID, Remote: true,
		TraceFlags: trace.TraceFlags(high<<4|low) & trace.FlagsSampled,
	}), true
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	}
	return 0, false
}
