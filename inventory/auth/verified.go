package auth

import (
	"crypto/sha256"
	"sync"
)

// verified remembers tokens that were found good, by their SHA-256: most requests
// come with one that was seen a moment ago, and to hash it costs a tenth of
// verifying it. A signature that was good stays good; what is looked at each time is
// the time.
type verified struct {
	tokens *Tokens
	mu     sync.RWMutex
	seen   bounded[[sha256.Size]byte, Claims]
}

// verify is Tokens.Verify.
func (v *verified) verify(token string) (*Claims, error) {
	if len(token) > MaxTokenLength {
		return v.tokens.Verify(token) // which doesn't look at it either
	}
	sum, now := sha256.Sum256([]byte(token)), v.tokens.now()
	v.mu.RLock()
	c, ok := v.seen.get(sum, now)
	v.mu.RUnlock()
	if ok {
		return &c, nil
	}
	found, err := v.tokens.Verify(token)
	if err != nil {
		return nil, err
	}
	l := lasting[Claims]{*found, v.tokens.opens(found), found.ExpiresAt.Add(v.tokens.leeway)}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.seen.put(sum, l, now)
	return found, nil
}
