package auth

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"runtime"
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
