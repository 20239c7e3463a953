package jwt

// Remembered returns the number of cached accounts and tokens of g.
func Remembered(g *Guard) (states, tokens int) {
	return g.states.Len(), g.verified.Len()
}
