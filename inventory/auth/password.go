package auth

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
)

const (
	// MinPasswordLength is the minimum number of Unicode code points of a new password
	// (REFERENCE.md, 3.3).
	MinPasswordLength = 8
	// MaxPasswordBytes is the maximum length of a password in bytes. Longer ones are rejected.
	MaxPasswordBytes = 1024
)

// CheckPassword returns an error of the kind WeakPassword for a new password with less than
// MinPasswordLength characters or more than MaxPasswordBytes, for invalid UTF-8, for one repeated
// character, for frequently used passwords, and for the words in about, such as the names and the mail
// address of the user, also up to the @. These are also found in other case, with digits and
// punctuation after them, and with digits and symbols that look like letters ("P4ssw0rd1!"). There
// are no composition rules.
func CheckPassword(password string, about ...string) error {
	if err := checkBytes(password); err != nil {
		return err
	}
	if utf8.RuneCountInString(password) < MinPasswordLength {
		return weak("Password must have at least %d characters", MinPasswordLength)
	}
	return checkGuessable(password, about)
}

// checkBytes reports passwords that cannot be hashed.
func checkBytes(password string) error {
	switch {
	case password == "":
		return weak("Password must not be empty")
	case len(password) > MaxPasswordBytes:
		return weak("Password must have at most %d bytes", MaxPasswordBytes)
	case !utf8.ValidString(password):
		return weak("Password is not valid UTF-8")
	}
	return nil
}

func weak(format string, args ...any) error {
	return &Error{Kind: WeakPassword, Message: fmt.Sprintf(format, args...)}
}

// The lengths of new salts and keys in bytes (RFC 9106, sections 3.1 and 4).
const (
	newSalt = 16
	newKey  = 32

	maxConcurrent     = 1024
	defaultConcurrent = 4
)

// HasherOptions configures a Hasher. Nil means the defaults.
type HasherOptions struct {
	// Cost of a new hash. Default: defaultCost.
	Cost Cost
	// Concurrent is the number of hashes of this cost that are computed at once, at most 1024. It
	// bounds memory to Concurrent times Cost.Memory, or to one stored hash that needs more; with what
	// the garbage collector has not freed yet, a process takes two to three times that, unless
	// GOMEMLIMIT is lower. Default: GOMAXPROCS, at most 4: with the default cost that is 76 MiB.
	Concurrent int
	// Waiting is the maximum number of waiting calls. Further calls get an error of the kind Busy, or
	// the waiting call does whose origins have most calls; see WithOrigins. Default: 256.
	Waiting int
}

// Hasher hashes passwords with Argon2id. Create it with NewHasher. It is safe for concurrent use.
type Hasher struct {
	cost    Cost
	memory  *memoryLimit
	unknown *hash // compared for users who do not exist
}

// NewHasher returns a Hasher, or an error that names the invalid option.
func NewHasher(opts *HasherOptions) (*Hasher, error) {
	opts = cmp.Or(opts, &HasherOptions{})
	c := cmp.Or(opts.Cost, defaultCost())
	if reason := c.fault(); reason != "" {
		return nil, fmt.Errorf("auth: invalid HasherOptions.Cost: %s", reason)
	}
	if opts.Concurrent < 0 || opts.Concurrent > maxConcurrent {
		return nil, fmt.Errorf("auth: invalid HasherOptions.Concurrent %d: use 1 to %d, or 0 for the default", opts.Concurrent, maxConcurrent)
	}
	if opts.Waiting < 0 {
		return nil, fmt.Errorf("auth: invalid HasherOptions.Waiting %d: use at least 1, or 0 for the default", opts.Waiting)
	}
	size := int64(cmp.Or(opts.Concurrent, min(runtime.GOMAXPROCS(0), defaultConcurrent))) * int64(c.Memory)
	return &Hasher{
		cost:    c,
		memory:  &memoryLimit{size: size, free: size, limit: cmp.Or(opts.Waiting, 256), origins: map[string]*origin{}},
		unknown: &hash{cost: c, salt: make([]byte, newSalt), key: make([]byte, newKey)},
	}, nil
}

// Hash returns a hash of password in PHC form with a new random salt. It may wait until ctx ends. The
// error has the kind WeakPassword for an empty password or one over MaxPasswordBytes, the kind Busy,
// or is that of ctx. Other rules are in CheckPassword.
func (h *Hasher) Hash(ctx context.Context, password string) (string, error) {
	if err := checkBytes(password); err != nil {
		return "", err
	}
	made := &hash{cost: h.cost, salt: make([]byte, newSalt), key: make([]byte, newKey)}
	_, _ = rand.Read(made.salt) // never fails
	key, err := h.run(ctx, made, password)
	if err != nil {
		return "", err
	}
	made.key = key
	return made.String(), nil
}

// Verify reports whether stored is a hash of password. stored is Argon2id in PHC form, with a cost
// within the documented bounds. For a user who does not exist pass "", which takes as long and is
// always false.
//
// Verify may wait until ctx ends; a computation is not interrupted. The error has the kind BadHash for
// an invalid stored hash, the kind Busy, or is that of ctx.
func (h *Hasher) Verify(ctx context.Context, stored, password string) (bool, error) {
	against, possible := h.unknown, false
	if stored != "" {
		parsed, err := parseHash(stored)
		if err != nil {
			return false, err
		}
		against, possible = parsed, checkBytes(password) == nil
	}
	if !possible {
		password = "" // a huge one would take longer
	}
	key, err := h.run(ctx, against, password)
	if err != nil {
		return false, err
	}
	return subtle.ConstantTimeCompare(key, against.key) == 1 && possible, nil
}

// NeedsRehash reports whether stored has another cost or other lengths than a new hash. Call it after
// a successful Verify, when the password is available.
func (h *Hasher) NeedsRehash(stored string) bool {
	parsed, err := parseHash(stored)
	return err != nil || parsed.cost != h.cost || len(parsed.salt) != newSalt || len(parsed.key) != newKey
}

// CheckHash returns an error of the kind BadHash if Verify does not support stored, for the import of
// accounts.
func CheckHash(stored string) error {
	_, err := parseHash(stored)
	return err
}

// run computes a key when memory is available.
func (h *Hasher) run(ctx context.Context, with *hash, password string) ([]byte, error) {
	release, err := h.memory.acquire(ctx, int64(with.cost.Memory))
	if err != nil {
		return nil, err
	}
	defer release()
	c := with.cost
	return argon2.IDKey([]byte(password), with.salt, c.Time, c.Memory, c.Parallelism, uint32(len(with.key))), nil
}

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
