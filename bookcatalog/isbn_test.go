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
		"":                  "not 0",
		"44412":             "not 5",
		"978014143958":      "not 12",
		"9780141439588":     "check digit 8 instead of 7",
		"0141439581":        "check digit 1 instead of 0",
		"0804429573":        "check digit 3 instead of X",
		"014143958X":        "check digit X instead of 0",
		"979-0-2600-0043-8": "printed music",
		"9770141439587":     "978 or 979",
		"X804429570":        "X only",
		"978080442957X":     "X only",
		"９780141439587":     "X only",
	} {
		got, err := bookcatalog.ParseISBN(s)
		ok := err == nil && got == want
		if err != nil {
			ok = got == "" && strings.Contains(err.Error(), want)
		}
		if !ok {
			t.Errorf("ParseISBN(%q): %q, %v; want %s", s, got, err, want)
		}
	}
}

// FuzzISBN checks that what is accepted has thirteen digits, is accepted again as that,
// and is not accepted with any other check digit.
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
		for _, digit := range "0123456789" {
			other := isbn13[:12] + string(digit)
			if _, err := bookcatalog.ParseISBN(other); (err == nil) != (other == isbn13) {
				t.Errorf("%q is accepted as an ISBN besides %q", other, isbn13)
			}
		}
	})
}
