package auth

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"runtime"
)

// The lengths of new salts and keys, in bytes, as RFC 9106, 3.1 and 4 advise.
const (
	newSalt = 16
	newKey  = 32

	maxConcurrent = 1024
)

// HasherOptions are the choices of a Hasher. The zero value, like nil, is fit for use.
type HasherOptions struct {
	// Cost is what a new hash takes. Default: DefaultCost.
	Cost Cost
	// Concurrent is how many hashes of that cost are computed at once. It bounds the
	// memory: no more than Concurrent times Cost.Memory is in use, or what one
	// stored hash takes that asks for more than that. At most 1024. Default: GOMAXPROCS.
	Concurrent int
	// Waiting is how many calls may wait for their turn; more get an error of
	// the kind Busy. Default: 256.
	Waiting int
}

// Hasher hashes passwords with Argon2id. Make one with NewHasher and share it:
// any number of goroutines may use it, and there is nothing to close.
type Hasher struct {
	cost  Cost
	gate  *gate
	decoy *hash
}

// NewHasher returns a Hasher, or an error that says which option is out of its
// bounds. opts may be nil.
func NewHasher(opts *HasherOptions) (*Hasher, error) {
	if opts == nil {
		opts = &HasherOptions{}
	}
	c := cmp.Or(opts.Cost, DefaultCost())
	if reason := c.fault(); reason != "" {
		return nil, fmt.Errorf("auth: cost of hashing: %s", reason)
	}
	if opts.Concurrent < 0 || opts.Concurrent > maxConcurrent {
		return nil, fmt.Errorf("auth: hashing %d at once: want 1 to %d, or 0 for the default", opts.Concurrent, maxConcurrent)
	}
	if opts.Waiting < 0 {
		return nil, fmt.Errorf("auth: hashing with %d waiting: want at least 1, or 0 for the default", opts.Waiting)
	}
	concurrent := cmp.Or(opts.Concurrent, min(runtime.GOMAXPROCS(0), maxConcurrent))
	return &Hasher{
		cost:  c,
		gate:  newGate(int64(concurrent)*int64(c.Memory), int64(cmp.Or(opts.Waiting, 256))),
		decoy: &hash{cost: c, salt: make([]byte, newSalt), key: make([]byte, newKey)},
	}, nil
}

// Hash returns a hash of password in PHC form, with a new random salt. It waits for
// its turn as long as ctx allows. It fails with the kind WeakPassword for an empty
// password or one over MaxPasswordBytes, with Busy, or with ctx's error. It does
// not judge a password otherwise: that is CheckPassword.
func (h *Hasher) Hash(ctx context.Context, password string) (string, error) {
	if err := checkBytes(password); err != nil {
		return "", err
	}
	made := &hash{cost: h.cost, salt: make([]byte, newSalt), key: make([]byte, newKey)}
	rand.Read(made.salt) // never fails
	key, err := h.run(ctx, made, password)
	if err != nil {
		return "", err
	}
	made.key = key
	return made.String(), nil
}

// Verify reports whether password is the one that stored is a hash of. stored is the
// PHC form of Argon2id with any cost up to the bounds above. For a user who does
// not exist give "": that takes the time of a new hash and is never true.
//
// It waits for its turn as long as ctx allows; a hash that is being computed is
// finished even if ctx ends. It fails with the kind BadHash for a stored hash that
// it can't or won't compute, with Busy, or with ctx's error.
func (h *Hasher) Verify(ctx context.Context, stored, password string) (bool, error) {
	against, possible := h.decoy, false
	// What can't have been hashed here takes the time all the same.
	if stored != "" {
		parsed, err := parseHash(stored)
		if err != nil {
			return false, err
		}
		against, possible = parsed, checkBytes(password) == nil
	}
	if !possible {
		password = "" // one of many megabytes would take its own time
	}
	key, err := h.run(ctx, against, password)
	if err != nil {
		return false, err
	}
	return subtle.ConstantTimeCompare(key, against.key) == 1 && possible, nil
}

// NeedsRehash reports whether stored was made with another cost, or other lengths,
// than a new hash would be. Ask it after Verify was true: the password is at hand then.
func (h *Hasher) NeedsRehash(stored string) bool {
	parsed, err := parseHash(stored)
	return err != nil || parsed.cost != h.cost || len(parsed.salt) != newSalt || len(parsed.key) != newKey
}

// CheckHash returns nil if Verify can work with stored, and else an error of the
// kind BadHash that says why not. It is for taking over accounts from elsewhere.
func CheckHash(stored string) error {
	_, err := parseHash(stored)
	return err
}

// run computes a key when there is room for it.
func (h *Hasher) run(ctx context.Context, with *hash, password string) ([]byte, error) {
	leave, err := h.gate.enter(ctx, int64(with.cost.Memory))
	if err != nil {
		return nil, err
	}
	defer leave()
	return with.derive(password), nil
}
