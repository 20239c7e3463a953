package auth

import "context"

// Canonical is stored as it is written after reading, or the error of reading.
func Canonical(stored string) (string, error) {
	h, err := parseHash(stored)
	if err != nil {
		return "", err
	}
	return h.String(), nil
}

// Occupy takes so many KiB of what h may hash with, and returns what gives them back.
func Occupy(h *Hasher, kib int64) (leave func(), err error) {
	return h.gate.enter(context.Background(), kib)
}

// Remembered is how many standings and tokens g has.
func Remembered(g *Guard) (standings, tokens int) {
	g.known.mu.RLock()
	defer g.known.mu.RUnlock()
	g.tokens.mu.RLock()
	defer g.tokens.mu.RUnlock()
	return len(g.known.byUser.entries), len(g.tokens.seen.entries)
}
