package bookcatalog_test

import (
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/bookcatalog"
)

func TestParseISBN(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"9780141439587":     "9780141439587",
		"978-0-14-143958-7": "9780141439587",
		"0141439580":        "9780141439587",
		"0-14-143958-0":     "9780141439587",
		"0-8044-2957-X":     "9780804429573",
		"080442957x":        "9780804429573",
		"979-10-90636-07-1": "9791090636071",
		"":                  "must be an ISBN of 10 or 13 digits, not 0",
		"44412":             "must be an ISBN of 10 or 13 digits, not 5",
		"978014143958":      "must be an ISBN of 10 or 13 digits, not 12",
		"9780141439588":     "has check digit 8 instead of 7: look for a typing error",
		"0141439581":        "has check digit 1 instead of 0: look for a typing error",
		"0804429573":        "has check digit 3 instead of X: look for a typing error",
		"014143958X":        "has check digit X instead of 0: look for a typing error",
		"979-0-2600-0043-8": "must be the ISBN of a book: 979-0 is printed music",
		"9770141439587":     "must begin with 978 or 979 if it has 13 digits",
		"X804429570":        "must be an ISBN: 10 or 13 digits with optional hyphens and spaces; X only as the last of 10",
		"978080442957X":     "must be an ISBN: 10 or 13 digits with optional hyphens and spaces; X only as the last of 10",
		"９780141439587":     "must be an ISBN: 10 or 13 digits with optional hyphens and spaces; X only as the last of 10",
	} {
		got, err := bookcatalog.ParseISBN(s)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("ParseISBN(%q): %s, want %s", s, got, want)
		}
	}
}

func TestISBN10(t *testing.T) {
	t.Parallel()
	if got, ok := bookcatalog.ISBN10("9780804429573"); got != "080442957X" || !ok {
		t.Errorf("got %q, %v", got, ok)
	}
	for _, none := range []string{"9791090636071", "", "978"} {
		if got, ok := bookcatalog.ISBN10(none); ok {
			t.Errorf("%q has the ten digits %q", none, got)
		}
	}
}

// FuzzISBN checks that what is accepted has thirteen digits, is accepted again as that,
// comes back from its ten, and is not accepted with any other check digit.
func FuzzISBN(f *testing.F) {
	for _, seed := range []string{"978-0-14-143958-7", "080442957X", "979-10-90636-07-1", "-", "X"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		isbn13, err := bookcatalog.ParseISBN(s)
		if err != nil {
			return
		}
		if again, err := bookcatalog.ParseISBN(isbn13); err != nil || again != isbn13 || len(isbn13) != 13 {
			t.Errorf("%q came to %q and then to %q, %v", s, isbn13, again, err)
		}
		if isbn10, ok := bookcatalog.ISBN10(isbn13); ok {
			if back, err := bookcatalog.ParseISBN(isbn10); err != nil || back != isbn13 {
				t.Errorf("%q came to %q, that to %q and back to %q, %v", s, isbn13, isbn10, back, err)
			}
		} else if strings.HasPrefix(isbn13, "978") {
			t.Errorf("%q has no ten digits", isbn13)
		}
		for _, digit := range "0123456789" {
			other := isbn13[:12] + string(digit)
			if _, err := bookcatalog.ParseISBN(other); (err == nil) != (other == isbn13) {
				t.Errorf("%q is taken for an ISBN next to %q", other, isbn13)
			}
		}
	})
}
