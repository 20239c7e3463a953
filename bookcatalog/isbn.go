package bookcatalog

import (
	"fmt"
	"strings"
)

// ParseISBN reads an ISBN of ten or thirteen digits, with blanks and hyphens wherever
// they may stand, checks its check digit, and returns it as thirteen digits (ISO 2108;
// reference, 6.2). The error says what would be right.
func ParseISBN(s string) (string, error) {
	digits := strings.NewReplacer("-", "", " ", "").Replace(s)
	for i, c := range []byte(digits) {
		last := i == 9 && len(digits) == 10
		if (c < '0' || c > '9') && !(last && (c == 'X' || c == 'x')) {
			return "", fmt.Errorf("must be an ISBN: %d or %d digits, hyphens and blanks, and X at the end of %d only", 10, 13, 10)
		}
	}
	switch len(digits) {
	case 10:
		if err := checkDigit(digits, digit10(digits)); err != nil {
			return "", err
		}
		isbn13 := "978" + digits[:9]
		return isbn13 + string(digit13(isbn13)), nil
	case 13:
		return digits, check13(digits)
	}
	return "", fmt.Errorf("must be an ISBN of 10 or 13 digits, not of %d", len(digits))
}

// ISBN10 is the form of ten digits, which only those have that begin with 978. The
// argument is what [ParseISBN] returns.
func ISBN10(isbn13 string) (string, bool) {
	if len(isbn13) != 13 || !strings.HasPrefix(isbn13, "978") {
		return "", false
	}
	body := isbn13[3:12]
	return body + string(digit10(body)), true
}

// check13 checks thirteen digits: who gave them out, and the last.
func check13(digits string) error {
	switch {
	case strings.HasPrefix(digits, "9790"):
		return fmt.Errorf("must be the number of a book: 979-0 is printed music")
	case !strings.HasPrefix(digits, "978") && !strings.HasPrefix(digits, "979"):
		return fmt.Errorf("must begin with 978 or 979 when it has 13 digits")
	}
	return checkDigit(digits, digit13(digits))
}

func checkDigit(digits string, want byte) error {
	got := strings.ToUpper(digits)[len(digits)-1]
	if got != want {
		return fmt.Errorf("has the check digit %c, which should be %c: look for a typing error", got, want)
	}
	return nil
}

// digit10 is the check digit for the first nine: weights 10 to 2, modulo 11, X for ten.
func digit10(digits string) byte {
	sum := 0
	for i := range 9 {
		sum += (10 - i) * int(digits[i]-'0')
	}
	return "0123456789X"[(11-sum%11)%11]
}

// digit13 is the check digit for the first twelve: weights 1 and 3 in turn, modulo 10.
func digit13(digits string) byte {
	sum := 0
	for i := range 12 {
		sum += (1 + i%2*2) * int(digits[i]-'0')
	}
	return byte('0' + (10-sum%10)%10)
}
