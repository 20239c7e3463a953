package bookcatalog

import (
	"errors"
	"fmt"
	"strings"
)

// ParseISBN reads an ISBN of ten or thirteen digits with optional spaces and hyphens, verifies its
// check digit, and returns its thirteen digits (ISO 2108). The error says what is valid.
func ParseISBN(s string) (string, error) {
	digits := strings.ToUpper(strings.NewReplacer("-", "", " ", "").Replace(s))
	for i, c := range []byte(digits) {
		if (c < '0' || c > '9') && !(c == 'X' && i == 9 && len(digits) == 10) {
			return "", errors.New("must be an ISBN: 10 or 13 digits with optional hyphens and spaces; X only as the last of 10")
		}
	}
	isbn13, want := digits, byte(0)
	switch {
	case len(digits) == 10:
		isbn13 = "978" + digits[:9]
		isbn13 += string(digit13(isbn13))
		want = digit10(digits)
	case len(digits) != 13:
		return "", fmt.Errorf("must be an ISBN of 10 or 13 digits, not %d", len(digits))
	case strings.HasPrefix(digits, "9790"):
		return "", errors.New("must be the ISBN of a book: 979-0 is printed music")
	case !strings.HasPrefix(digits, "978") && !strings.HasPrefix(digits, "979"):
		return "", errors.New("must begin with 978 or 979 if it has 13 digits")
	default:
		want = digit13(digits)
	}
	if got := digits[len(digits)-1]; got != want {
		return "", fmt.Errorf("has check digit %c instead of %c: look for a typing error", got, want)
	}
	return isbn13, nil
}

// digit10 returns the check digit for the first nine: weights 10 to 2, modulo 11, X for ten.
func digit10(digits string) byte {
	sum := 0
	for i := range 9 {
		sum += (10 - i) * int(digits[i]-'0')
	}
	return "0123456789X"[(11-sum%11)%11]
}

// digit13 returns the check digit for the first twelve: weights 1 and 3 in turn, modulo 10.
func digit13(digits string) byte {
	sum := 0
	for i := range 12 {
		sum += (1 + i%2*2) * int(digits[i]-'0')
	}
	return byte('0' + (10-sum%10)%10)
}
