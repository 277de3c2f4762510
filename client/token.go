package client

import (
	"crypto/rand"
	"encoding/base64"
)

// newToken returns 128 random bits.
func newToken() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails since Go 1.24
	return base64.RawURLEncoding.EncodeToString(b[:])
}
