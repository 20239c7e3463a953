package jwt

// Remembered returns the number of cached accounts and tokens of g.
func Remembered(g *Guard) (states, tokens int) {
	g.states.mu.RLock()
	defer g.states.mu.RUnlock()
	g.tokens.mu.RLock()
	defer g.tokens.mu.RUnlock()
	return len(g.states.cached.entries), len(g.tokens.seen.entries)
}
