package auth

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

const (
	// MinKeyBytes is the minimum length of a signing key (RFC 7518, section 3.2).
	MinKeyBytes = 32
	// MaxKeys is the maximum number of keys.
	MaxKeys = 8
	// MaxLeeway is the maximum clock difference between who issues tokens and who verifies them.
	MaxLeeway = 5 * time.Minute
	// KeyDelay is the time for which a new key of [KeySet.Rotate] only verifies. All processes with the set
	// must read it within that time.
	KeyDelay = 30 * time.Second

	maxSetKeys = 6
)

// KeySet is a set of signing keys that several processes share in a file or a database: each key
// with the time from which it signs, and the time until which it verifies. No format prints the
// keys; [KeySet.Encode] does.
type KeySet struct{ keys []timedKey }

type timedKey struct {
	Key           []byte    `json:"key"`
	SignsFrom     time.Time `json:"signs_from,omitzero"`
	VerifiesUntil time.Time `json:"verifies_until,omitzero"` // zero for the last key, and for those of a text
}

// NewKeySet returns a set of one random key, or of the given key, which has at least MinKeyBytes.
func NewKeySet(key []byte) (*KeySet, error) {
	if key == nil {
		key = randomKey()
	}
	s := &KeySet{keys: []timedKey{{Key: bytes.Clone(key)}}}
	return s, CheckKeys([][]byte{key})
}

func randomKey() []byte {
	key := make([]byte, MinKeyBytes)
	_, _ = rand.Read(key) // never fails
	return key
}

// ParseKeySet reads the form that Encode writes, or keys as text, one a line: the first signs, and all
// verify until the next rotation and its time have passed. Blank lines do not count.
func ParseKeySet(text []byte) (*KeySet, error) {
	s := &KeySet{}
	if text = bytes.TrimSpace(text); !bytes.HasPrefix(text, []byte("{")) {
		for line := range bytes.Lines(text) {
			if line = bytes.TrimSpace(line); len(line) > 0 {
				s.keys = append(s.keys, timedKey{Key: bytes.Clone(line)})
			}
		}
		err := CheckKeys(s.all())
		slices.Reverse(s.keys) // the last one signs
		return s, err
	}
	var doc struct {
		Keys []timedKey `json:"keys"`
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if decoder.Decode(&doc) != nil { // its error may show a part of a key
		return nil, errors.New("auth: the set of signing keys is damaged: it is not in the form that this program writes")
	}
	s.keys = doc.Keys
	return s, CheckKeys(s.all())
}

func (s *KeySet) all() [][]byte {
	all := make([][]byte, len(s.keys))
	for i := range s.keys {
		all[i] = s.keys[i].Key
	}
	return all
}

// Encode returns the set as one line of JSON of at most 900 bytes for keys of MinKeyBytes.
func (s *KeySet) Encode() []byte {
	text, _ := json.Marshal(map[string][]timedKey{"keys": s.keys}) // cannot fail
	return text
}

// String returns the number of keys.
func (s *KeySet) String() string { return fmt.Sprintf("%d signing keys", len(s.keys)) }

// GoString returns String.
func (s *KeySet) GoString() string { return s.String() }

// At returns the keys for [NewTokens] and [Tokens.SetKeys]: the one that signs at a time first,
// then the others that verify, those of a rotation in progress included.
func (s *KeySet) At(now time.Time) [][]byte {
	signing := 0
	for i, k := range s.keys {
		if !now.Before(k.SignsFrom) {
			signing = i
		}
	}
	keys := [][]byte{s.keys[signing].Key}
	for i, k := range slices.Backward(s.keys) {
		if i != signing && k.verifies(now) {
			keys = append(keys, k.Key)
		}
	}
	return keys
}

func (k *timedKey) verifies(now time.Time) bool {
	return k.VerifiesUntil.IsZero() || now.Before(k.VerifiesUntil)
}

// Rotate adds a random key, which signs from the returned time on, KeyDelay later. The previous
// key verifies until the last token that it signs has expired; lifetime is that of tokens. The
// error is that the last rotation has just begun, or that too many keys still verify.
func (s *KeySet) Rotate(now time.Time, lifetime time.Duration) (signsFrom, verifiesUntil time.Time, err error) {
	last := &s.keys[len(s.keys)-1]
	if now.Before(last.SignsFrom) {
		return signsFrom, verifiesUntil, fmt.Errorf("auth: a rotation is in progress: try again after %s", last.SignsFrom.Format(time.RFC3339))
	}
	kept := slices.DeleteFunc(slices.Clone(s.keys), func(k timedKey) bool { return !k.verifies(now) })
	if len(kept) >= maxSetKeys && kept[0].VerifiesUntil.IsZero() {
		return signsFrom, verifiesUntil, fmt.Errorf("auth: there are %d keys: remove those whose tokens have expired, or revoke all of them", len(kept))
	}
	if len(kept) >= maxSetKeys {
		return signsFrom, verifiesUntil, fmt.Errorf("auth: %d keys still verify tokens: try again after %s, or revoke all of them",
			len(kept), kept[0].VerifiesUntil.Format(time.RFC3339))
	}
	signsFrom = now.UTC().Truncate(time.Second).Add(KeyDelay)
	verifiesUntil = signsFrom.Add(lifetime + MaxLeeway)
	for i := range kept {
		if kept[i].VerifiesUntil.IsZero() { // the last one, and those of a text
			kept[i].VerifiesUntil = verifiesUntil
		}
	}
	s.keys = append(kept, timedKey{Key: randomKey(), SignsFrom: signsFrom})
	return signsFrom, verifiesUntil, nil
}

// Revoke replaces all keys by a random one, which invalidates all tokens.
func (s *KeySet) Revoke() { s.keys = []timedKey{{Key: randomKey()}} }

// CheckKeys checks number and lengths of keys: 1 to MaxKeys of at least MinKeyBytes. Errors never
// contain a key.
func CheckKeys(keys [][]byte) error {
	if len(keys) < 1 || len(keys) > MaxKeys {
		return fmt.Errorf("auth: %d token keys: use 1 to %d", len(keys), MaxKeys)
	}
	for i, key := range keys {
		if len(key) < MinKeyBytes {
			return fmt.Errorf("auth: token key %d of %d has %d bytes: use at least %d random bytes",
				i+1, len(keys), len(key), MinKeyBytes)
		}
	}
	return nil
}
