package grammar

import (
	"encoding/json"
	"strings"

	"github.com/ashlar-go/ashlar/internal/suggest"
)

// Only reports whether s has nothing but ASCII letters, ASCII digits and the bytes of
// others. The empty string qualifies.
func Only(s, others string) bool {
	for i := range len(s) {
		if c := s[i]; !IsAlphanumeric(c) && strings.IndexByte(others, c) < 0 {
			return false
		}
	}
	return true
}

// IsAlphanumeric reports whether c is an ASCII letter or digit.
func IsAlphanumeric(c byte) bool { return isDigit(c) || IsLetter(c) }

// IsLetter reports whether c is an ASCII letter.
func IsLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// IsDigits reports whether s consists of one or more ASCII digits.
func IsDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// IsHex reports whether s consists of one or more hexadecimal digits of either case.
func IsHex(s string) bool { return s != "" && strings.Trim(s, "0123456789abcdefABCDEF") == "" }

// IsSHA256 reports whether s is a SHA-256: 64 lowercase hexadecimal digits.
func IsSHA256(s string) bool { return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == "" }

// IsSpace reports whether c is white space of ECMA-262, which the regular expressions
// of JSON Schema refer to.
func IsSpace(c rune) bool {
	switch c {
	case '\t', '\n', '\v', '\f', '\r', ' ', 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF:
		return true
	}
	return 0x2000 <= c && c <= 0x200A
}

// Alternatives joins words: "a", "a or b", "a, b or c".
func Alternatives(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// MaxKey is the maximum length of a key in messages, in bytes. Every known key is shorter.
const MaxKey = 64

// Closest returns the word that was probably meant, or "": one that differs in case and
// punctuation only, or one of more than four characters with a single typing error.
func Closest(word string, words []string) string {
	if same := suggest.Closest(word, words, 0); same != "" {
		return same
	}
	var long []string
	for _, w := range words {
		if len(w) > 4 {
			long = append(long, w)
		}
	}
	return suggest.Closest(word, long, 1)
}

// IsTypo reports whether two words differ by one typing error: a character that is missing,
// added or wrong, or two neighbors that are swapped.
func IsTypo(a, b string) bool {
	return a != b && max(len(a)-len(b), len(b)-len(a)) <= 1 && suggest.Distance(a, b) == 1
}

// IsNumber reports whether s is a JSON number (RFC 8259, section 6).
func IsNumber(s string) bool {
	return s != "" && (s[0] == '-' || isDigit(s[0])) && isDigit(s[len(s)-1]) && json.Valid([]byte(s))
}

// RegistryTypes returns the well-known values of registryType.
func RegistryTypes() []string { return []string{"npm", "pypi", "oci", "nuget", "mcpb", "cargo"} }

// placeholderMarks enclose a name in a release template. Those that also occur in other
// text enclose capitals only.
var placeholderMarks = [...]struct {
	open, end string
	capitals  bool
}{
	{"{{", "}}", false},
	{"${", "}", false},
	{"<<", ">>", false},
	{"<%", "%>", false},
	{"#{", "}", false},
	{"__", "__", true},
	{"@", "@", true},
	{"%", "%", true},
}

// Stub returns the first word in s that stands for one of the reader, such as your-package or YOUR_API_KEY, or "".
func Stub(s string) string {
	if !strings.Contains(s, "your-") && !strings.Contains(s, "your_") && !strings.Contains(s, "YOUR_") {
		return ""
	}
	for w := range strings.FieldsFuncSeq(s, func(c rune) bool { return strings.ContainsRune("/@:<>?&=. ", c) }) {
		if len(w) > 5 && (strings.HasPrefix(w, "your-") || strings.HasPrefix(w, "your_") || strings.HasPrefix(w, "YOUR_")) {
			return w
		}
	}
	return ""
}

// Placeholder returns the first placeholder of a release template in s, such as
// {{VERSION}} or your-package, or "".
func Placeholder(s string) string {
	if found := Stub(s); found != "" {
		return found
	}
	if !strings.ContainsAny(s, "{<_@%") {
		return ""
	}
	for _, m := range placeholderMarks {
		_, after, opened := strings.Cut(s, m.open)
		text, _, closed := strings.Cut(after, m.end)
		name := strings.Trim(text, " =-")
		if opened && closed && name != "" && len(name) <= MaxKey && IsLetter(name[0]) && Only(name, "_.- ") && (!m.capitals || name == strings.ToUpper(name)) {
			return m.open + text + m.end
		}
	}
	return ""
}

// Lines returns the messages of a list of errors, one per line.
func Lines[T any, P interface {
	*T
	error
}](list []T) string {
	lines := make([]string, len(list))
	for i := range list {
		lines[i] = P(&list[i]).Error()
	}
	return strings.Join(lines, "\n")
}

// Errors returns pointers to a list of errors, for errors.As.
func Errors[T any, P interface {
	*T
	error
}](list []T) []error {
	errs := make([]error, len(list))
	for i := range list {
		errs[i] = P(&list[i])
	}
	return errs
}
