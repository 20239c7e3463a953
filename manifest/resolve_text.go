package manifest

import (
	"strconv"
	"strings"
)

// substitute replaces the tokens of a template, once: what a value holds is not
// looked at again. open are the names for which there is no value, whose tokens
// stay. It returns false if the text would be too long.
func substitute(template string, lookup func(name string) (filled, bool)) (f filled, open []string, ok bool) {
	var b strings.Builder
	add := func(text string, given bool) bool {
		if b.Len() == 0 && text != "" {
			f.given = given
		}
		b.WriteString(text)
		return b.Len() <= maxText
	}
	for rest := template; ; {
		before, name, after := cutVariable(rest)
		if !add(before, false) {
			return filled{}, nil, false
		}
		if name == "" {
			f.text = b.String()
			return f, open, true
		}
		value, known := lookup(name)
		if !known {
			open = append(open, name)
			value = filled{text: "{" + name + "}"}
		}
		f.secret = f.secret || value.secret
		if !add(value.text, value.given) {
			return filled{}, nil, false
		}
		rest = after
	}
}

// maxZeros bounds the digits that an exponent stands for.
const maxZeros = 400

// decimalOf writes a number without an exponent, exactly. It takes what JSON calls
// a number.
func decimalOf(s string) (string, bool) {
	r := reader{text: s, opts: &Options{}, found: &findings{}}
	var n Node
	if !r.number(&n) || r.pos != len(s) {
		return "", false
	}
	mantissa, exponent, found := strings.Cut(strings.ToLower(s), "e")
	if !found {
		return s, true
	}
	shift, err := strconv.Atoi(exponent)
	if err != nil || shift > maxZeros || shift < -maxZeros {
		return "", false
	}
	return shifted(mantissa, shift), true
}

// shifted moves the point of a decimal number.
func shifted(mantissa string, by int) string {
	mantissa, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := whole + fraction
	point := len(whole) + by
	if point < 1 {
		digits = strings.Repeat("0", 1-point) + digits
		point = 1
	}
	if point > len(digits) {
		digits += strings.Repeat("0", point-len(digits))
	}
	whole = strings.TrimLeft(digits[:point], "0")
	fraction = strings.TrimRight(digits[point:], "0")
	text := whole
	if text == "" {
		text = "0"
	}
	if fraction != "" {
		text += "." + fraction
	}
	if negative && text != "0" {
		text = "-" + text
	}
	return text
}

// withLineBreak refuses what a header can't have: anything but text on one line.
func withLineBreak(text string) string {
	for i := range len(text) {
		switch c := text[i]; {
		case c == '\r' || c == '\n':
			return "has a line break, which a header cannot have"
		case c < ' ' && c != '\t' || c == 0x7f:
			return "has a control character, which a header cannot have"
		}
	}
	return ""
}

// isToken says that s can be the name of a header (RFC 9110, section 5.6.2).
func isToken(s string) bool { return s != "" && only(s, "!#$%&'*+-.^_`|~") }
