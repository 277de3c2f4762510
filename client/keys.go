package client

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
)

// braces would end the hash tag early; % makes the encoding reversible.
var keyEncoder = strings.NewReplacer("%", "%25", "{", "%7B", "}", "%7D")

// lockKey names the holder record. All keys of a lock begin with it, and its
// hash tag puts them into one slot of a Cluster.
func lockKey(prefix, key string) string { return prefix + "{" + keyEncoder.Replace(key) + "}" }

// lockKeys appends the keys of a lock, as the scripts expect them.
func lockKeys(keys []string, lock string) []string {
	return append(keys, lock, lock+":fence", lock+":members", lock+":info", lock+":queue", lock+":waiters")
}

const keysPerLock = 6

// leaseID is what names a lease in Redis: its token, and its locks in the order in
// which they are taken.
type leaseID struct {
	locks []string
	token string
}

// keys are the keys of the lease's locks.
func (id leaseID) keys() []string {
	keys := make([]string, 0, keysPerLock*len(id.locks))
	for _, lock := range id.locks {
		keys = lockKeys(keys, lock)
	}
	return keys
}

// keysAndTombstones are the keys of each lock and that of the token's tombstone there.
func (id leaseID) keysAndTombstones() []string {
	keys := make([]string, 0, (keysPerLock+1)*len(id.locks))
	for _, lock := range id.locks {
		keys = append(lockKeys(keys, lock), lock+":withdrawn:"+id.token)
	}
	return keys
}

// field encodes a value for the holder record: printable, without the blanks
// that part its fields, and reversible.
func field(s string) string {
	if s == "" {
		return "-"
	}
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || c == '%' || s == "-" {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// ownerField stands for an owner's id in the record: of fixed size, and not the
// id itself, since whoever knows that may enter.
func ownerField(owner string) string {
	if owner == "" {
		return "-"
	}
	sum := sha256.Sum256([]byte(owner))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}
