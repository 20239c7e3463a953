package memcachestore

import (
	"fmt"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// maxKey is the length of the longest key, in bytes, that memcached takes
// (specification, Errors 5).
const maxKey = 250

// checkKeys finds the first key that memcached does not take: an error of kind Invalid,
// since it is the request that is at fault. It does not hold the key, which is made of
// what clients send and may be a secret.
func checkKeys(hits []ratelimit.Hit) error {
	for i := range hits {
		if wrong := checkKey(hits[i].Key); wrong != "" {
			return &ratelimit.Error{
				Kind:    ratelimit.Invalid,
				Message: fmt.Sprintf("the counter key of hit %d %s", i, wrong),
				Err:     ErrKey,
			}
		}
	}
	return nil
}

// checkKey says what is wrong with a key, "" if nothing is.
func checkKey(key []byte) string {
	switch {
	case len(key) == 0:
		return fmt.Sprintf("is empty: it must have 1 to %d bytes", maxKey)
	case len(key) > maxKey:
		return fmt.Sprintf("has %d bytes: memcached takes %d at the most, so send shorter descriptors or set a shorter prefix of keys", len(key), maxKey)
	}
	for i, b := range key {
		if b <= ' ' || b == 0x7f {
			return fmt.Sprintf("has the byte 0x%02x at %d: memcached takes neither whitespace nor control characters, so send descriptors without them", b, i)
		}
	}
	return ""
}
