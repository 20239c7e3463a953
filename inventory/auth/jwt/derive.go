package jwt

import (
	"crypto/hkdf"
	"crypto/sha256"
)

// derivedBytes is the length of a derived key.
const derivedBytes = 32

// Derive returns a key of 32 bytes for each key in use, in the order of SetKeys (HKDF with SHA-256, RFC
// 5869). Processes with the same keys derive the same ones. They reveal nothing of the keys, nor of those
// for another purpose.
func (t *Tokens) Derive(purpose string) [][]byte {
	ring := t.keys.Load()
	derived := make([][]byte, len(ring.keys))
	for i, key := range ring.keys {
		var err error
		if derived[i], err = hkdf.Key(sha256.New, key, nil, purpose, derivedBytes); err != nil {
			panic(err) // unreachable: the length is valid
		}
	}
	return derived
}
