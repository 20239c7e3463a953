package config_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ashlar-go/ashlar/ratelimit/config"
)

// FuzzParse checks that Parse of any bytes ends soon and without a panic, has the same
// result twice, and reports only positions inside the file.
func FuzzParse(f *testing.F) {
	for _, data := range seeds() {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		files := []config.File{{Name: "f", Data: data}}
		c, err := parseSoon(t, data)
		if _, again := config.Parse(files, nil); (err == nil) != (again == nil) || err != nil && err.Error() != again.Error() {
			t.Fatalf("different results:\n%v\n%v", err, again)
		}
		if err == nil {
			inside(t, data, c.Warnings)
			return
		}
		var faults config.Faults
		if !errors.As(err, &faults) || len(faults) == 0 {
			t.Fatalf("the error is %T, want Faults with at least one", err)
		}
		inside(t, data, faults)
	})
}

func inside(t *testing.T, data []byte, faults []*config.Fault) {
	t.Helper()
	ends := strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")
	lines := strings.Split(ends.Replace(string(data)), "\n")
	for _, f := range faults {
		if text := f.Error(); strings.ContainsAny(text, "\n\r\x00") || !utf8.ValidString(text) {
			t.Errorf("%q is not one printable line", text)
		}
		if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) || f.Line == 0 {
			continue // lines of UTF-16 are not those of its bytes
		}
		if f.Line < 1 || f.Line > len(lines) || f.Column < 1 || f.Column > utf8.RuneCountInString(lines[f.Line-1])+1 {
			t.Errorf("%v: not a position in %q", f, data)
		}
	}
}
