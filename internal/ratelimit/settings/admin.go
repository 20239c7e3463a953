package settings

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// ReadAdminToken returns ADMIN_TOKEN or the content of ADMIN_TOKEN_FILE, without white space at its
// ends; "" if neither is set. Errors do not show the token.
func (s *Settings) ReadAdminToken() (string, error) {
	if s.AdminTokenFile == "" {
		return s.AdminToken, nil
	}
	data, err := os.ReadFile(s.AdminTokenFile)
	if err != nil {
		return "", fmt.Errorf("ADMIN_TOKEN_FILE: %w", err)
	}
	token := strings.TrimSpace(string(data))
	if err := checkToken(token); err != nil {
		return "", fmt.Errorf("ADMIN_TOKEN_FILE: %s %w", s.AdminTokenFile, err)
	}
	return token, nil
}

// checkToken accepts what can be sent as a bearer token, and not be guessed if it is random.
func checkToken(token string) error {
	const shortest = 16
	if len(token) < shortest {
		return fmt.Errorf("has %d bytes: use at least %d random ones, such as those of openssl rand -hex 16", len(token), shortest)
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("has blanks or characters that are not ASCII: use letters and digits, such as those of openssl rand -hex 16")
	}
	return nil
}
