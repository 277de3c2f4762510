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

// keysWithTombstone are the keys of a lock and that of the token's tombstone.
func (id leaseID) keysWithTombstone() []string {
	return append(lockKeys(make([]string, 0, keysPerLock+1), id.lock), id.lock+":withdrawn:"+id.token)
}

func (id leaseID) keys() []string { return lockKeys(make([]string, 0, keysPerLock), id.lock) }

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
