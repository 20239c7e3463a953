package auth

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/crypto/argon2"
)

// What a stored hash may ask for. Whoever can write one hash must not be able to
// take the memory or the processors of the service with it. The hashes of the
// reference service (64 MiB, one pass, 4 lanes) are well inside.
const (
	// MaxMemory is the most memory that one hash may take, in KiB: 256 MiB.
	MaxMemory = 256 << 10
	// MaxTime is the most passes over it.
	MaxTime = 16
	// MaxWork is the most KiB that all passes together may go over: 1 GiB.
	MaxWork = 1 << 20
	// MaxParallelism is the most lanes.
	MaxParallelism = 16

	minSalt, maxSalt = 8, 64 // bytes; RFC 9106, 3.1 has 8 as the least
	minKey, maxKey   = 16, 64

	// The longest text within these bounds has 205 bytes. Longer ones aren't looked at.
	maxHash = 256
)

// hash is a password hash in parts.
type hash struct {
	cost      Cost
	salt, key []byte
}

// derive is the key that password gives with h's cost, salt and key length.
func (h *hash) derive(password string) []byte {
	c := h.cost
	return argon2.IDKey([]byte(password), h.salt, c.Time, c.Memory, c.Parallelism, uint32(len(h.key)))
}

// String is h in PHC form.
func (h *hash) String() string {
	enc := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version,
		h.cost.Memory, h.cost.Time, h.cost.Parallelism, enc.EncodeToString(h.salt), enc.EncodeToString(h.key))
}

// parseHash reads the PHC form of Argon2id, exactly as String writes it: one hash
// has one text. Its errors say which part is wrong and nothing of what is in it.
func parseHash(text string) (*hash, error) {
	if len(text) > maxHash {
		return nil, badHash("longer than %d bytes", maxHash)
	}
	parts := strings.Split(text, "$")
	if len(parts) != 6 || parts[0] != "" {
		return nil, badHash("want $argon2id$v=19$m=..,t=..,p=..$salt$key")
	}
	if parts[1] != "argon2id" {
		return nil, badHash("the algorithm is not argon2id")
	}
	if parts[2] != "v="+strconv.Itoa(argon2.Version) {
		return nil, badHash("the version is not v=%d", argon2.Version)
	}
	h := &hash{}
	var err error
	if h.cost, err = parseCost(parts[3]); err != nil {
		return nil, err
	}
	if h.salt, err = parseBytes("salt", parts[4], minSalt, maxSalt); err != nil {
		return nil, err
	}
	if h.key, err = parseBytes("key", parts[5], minKey, maxKey); err != nil {
		return nil, err
	}
	return h, nil
}

// parseCost reads "m=19456,t=2,p=1".
func parseCost(s string) (Cost, error) {
	var numbers [3]uint32
	parts := strings.Split(s, ",")
	if len(parts) != len(numbers) {
		return Cost{}, badHash("the parameters are not m=..,t=..,p=..")
	}
	for i, name := range [...]string{"m", "t", "p"} {
		digits, ok := strings.CutPrefix(parts[i], name+"=")
		n, err := strconv.ParseUint(digits, 10, 32)
		// One number has one text, so a leading zero is refused too.
		if !ok || err != nil || strconv.FormatUint(n, 10) != digits {
			return Cost{}, badHash("parameter %d is not %s= and a number", i+1, name)
		}
		numbers[i] = uint32(n)
	}
	if numbers[2] > MaxParallelism { // before it is cut to a byte
		return Cost{}, badHash("more than %d lanes", MaxParallelism)
	}
	c := Cost{Memory: numbers[0], Time: numbers[1], Parallelism: uint8(numbers[2])}
	if reason := c.fault(); reason != "" {
		return Cost{}, badHash("%s", reason)
	}
	return c, nil
}

// parseBytes reads base64 without padding.
func parseBytes(name, s string, least, most int) ([]byte, error) {
	b, err := base64.RawStdEncoding.Strict().DecodeString(s)
	// The decoder passes over line breaks.
	if err != nil || strings.ContainsAny(s, "\r\n") {
		return nil, badHash("the %s is not base64 without padding", name)
	}
	if len(b) < least || len(b) > most {
		return nil, badHash("the %s has %d bytes: want %d to %d", name, len(b), least, most)
	}
	return b, nil
}

// badHash is an error about a stored hash.
func badHash(format string, args ...any) error {
	return &Error{Kind: BadHash, Message: messageInternal, Reason: "stored password hash: " + fmt.Sprintf(format, args...)}
}
