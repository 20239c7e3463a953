package auth

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/crypto/argon2"
)

// The limits of a stored hash, so that a manipulated one cannot exhaust memory or CPU. Hashes of 64
// MiB with one pass and 4 lanes, a common choice, are within them.
const (
	// maxMemory is the maximum memory of a hash in KiB: 256 MiB.
	maxMemory = 256 << 10
	// maxTime is the maximum number of passes.
	maxTime = 16
	// maxWork is the maximum of passes times memory in KiB: 1 GiB.
	maxWork = 1 << 20
	// maxParallelism is the maximum number of lanes.
	maxParallelism = 16

	minSalt, maxSalt = 8, 64 // bytes; 8 is the minimum of RFC 9106, section 3.1
	minKey, maxKey   = 16, 64

	// The longest hash within these limits has 205 bytes.
	maxHash = 256
)

// hash is a parsed password hash.
type hash struct {
	cost      Cost
	salt, key []byte
}

// String returns h in PHC form.
func (h *hash) String() string {
	enc := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version,
		h.cost.Memory, h.cost.Time, h.cost.Parallelism, enc.EncodeToString(h.salt), enc.EncodeToString(h.key))
}

// parseHash reads the PHC form of Argon2id exactly as String writes it. Errors name the invalid part
// and never its content.
func parseHash(text string) (*hash, error) {
	if len(text) > maxHash {
		return nil, badHash("longer than %d bytes", maxHash)
	}
	parts := strings.Split(text, "$")
	if len(parts) != 6 || parts[0] != "" {
		return nil, badHash("not $argon2id$v=19$m=..,t=..,p=..$salt$key")
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
		// Leading zeros are rejected.
		if !ok || err != nil || strconv.FormatUint(n, 10) != digits {
			return Cost{}, badHash("parameter %d is not %s= and a number", i+1, name)
		}
		numbers[i] = uint32(n)
	}
	if numbers[2] > maxParallelism { // before the conversion to uint8
		return Cost{}, badHash("more than %d lanes", maxParallelism)
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
	// The decoder ignores line breaks.
	if err != nil || strings.ContainsAny(s, "\r\n") {
		return nil, badHash("the %s is not base64 without padding", name)
	}
	if len(b) < least || len(b) > most {
		return nil, badHash("the %s has %d bytes, not %d to %d", name, len(b), least, most)
	}
	return b, nil
}

// badHash returns an error about a stored hash.
func badHash(format string, args ...any) error {
	return &Error{Kind: BadHash, Message: messageInternal, Reason: "stored password hash: " + fmt.Sprintf(format, args...)}
}

// Cost holds the parameters of Argon2id.
type Cost struct {
	Memory      uint32 // KiB, 8 times Parallelism to maxMemory
	Time        uint32 // passes over the memory, 1 to maxTime; times Memory at most maxWork
	Parallelism uint8  // lanes, 1 to maxParallelism
}

// defaultCost returns parameters recommended by OWASP: 19 MiB, two passes, one lane. A hash takes
// about 20 to 40 ms.
func defaultCost() Cost { return Cost{Memory: 19 << 10, Time: 2, Parallelism: 1} }

// fault returns what is invalid in c, or "".
func (c Cost) fault() string {
	switch {
	case c.Parallelism < 1 || c.Parallelism > maxParallelism:
		return fmt.Sprintf("parallelism of %d: use 1 to %d lanes", c.Parallelism, maxParallelism)
	case c.Memory < 8*uint32(c.Parallelism) || c.Memory > maxMemory:
		// The lower bound is that of RFC 9106, section 3.1.
		return fmt.Sprintf("memory of %d: use %d to %d KiB", c.Memory, 8*uint32(c.Parallelism), maxMemory)
	case c.Time < 1 || c.Time > maxTime:
		return fmt.Sprintf("time of %d: use 1 to %d passes", c.Time, maxTime)
	case uint64(c.Time)*uint64(c.Memory) > maxWork:
		return fmt.Sprintf("%d passes over %d KiB: use at most %d KiB in total", c.Time, c.Memory, maxWork)
	}
	return ""
}
