package auth

import (
	_ "embed"
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	// MinPasswordLength is the fewest characters (Unicode code points) of a new
	// password; reference, ruling 12.
	MinPasswordLength = 8
	// MaxPasswordBytes is the longest password there is, in bytes of UTF-8. Nothing is
	// ever cut: a longer one is refused.
	MaxPasswordBytes = 1024
)

// common is passwords of at least MinPasswordLength that guesses begin with, some 200,
// in lower case, one a line.
//
//go:embed common.txt
var common string

// CheckPassword returns an error of the kind WeakPassword if password must not be
// taken for a new one: it has less than MinPasswordLength characters or more than
// MaxPasswordBytes, is not UTF-8, is one of the most common, or is one of the words
// in about, such as the user's name and mail address, or that address up to its @.
// Case does not matter for these. There are no rules on what it is composed of.
func CheckPassword(password string, about ...string) error {
	if err := checkBytes(password); err != nil {
		return err
	}
	if utf8.RuneCountInString(password) < MinPasswordLength {
		return weak("Password must have at least %d characters", MinPasswordLength)
	}
	if isCommon(strings.ToLower(password)) {
		return weak("Password is one of the most common: choose another")
	}
	for _, word := range about {
		local, _, _ := strings.Cut(word, "@")
		if strings.EqualFold(password, word) || strings.EqualFold(password, local) {
			return weak("Password must not be your user name or e-mail address")
		}
	}
	return nil
}

// checkBytes is about what can be hashed at all.
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

// isCommon looks for a line. Going through all of them takes microseconds, and the
// hash that follows a thousand times that.
func isCommon(lower string) bool {
	if strings.Contains(lower, "\n") {
		return false // else two lines would be found as one
	}
	line := lower + "\n"
	return strings.HasPrefix(common, line) || strings.Contains(common, "\n"+line)
}

func weak(format string, args ...any) error {
	return &Error{Kind: WeakPassword, Message: fmt.Sprintf(format, args...)}
}
