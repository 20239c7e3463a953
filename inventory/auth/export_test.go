package auth

import "context"

// Canonical parses and formats a stored hash.
func Canonical(stored string) (string, error) {
	h, err := parseHash(stored)
	if err != nil {
		return "", err
	}
	return h.String(), nil
}

// Occupy reserves KiB of the memory of h and returns a function that releases them.
func Occupy(h *Hasher, kib int64) (release func(), err error) {
	return h.memory.acquire(context.Background(), kib)
}

// CommonPasswords returns the number of frequently used passwords that are refused.
func CommonPasswords() int { return len(common()) }
