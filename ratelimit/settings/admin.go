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
	return readToken("ADMIN_TOKEN_FILE", s.AdminToken, s.AdminTokenFile)
}

// ReadConsoleToken is ReadAdminToken for CONSOLE_TOKEN and CONSOLE_TOKEN_FILE.
func (s *Settings) ReadConsoleToken() (string, error) {
	return readToken("CONSOLE_TOKEN_FILE", s.ConsoleToken, s.ConsoleTokenFile)
}

// readToken returns a token, or the content of a file that the setting name names.
func readToken(name, token, file string) (string, error) {
	if file == "" {
		return token, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	token = strings.TrimSpace(string(data))
	if err := checkToken(token); err != nil {
		return "", fmt.Errorf("%s: %s %w", name, file, err)
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
