package records

import (
	"strings"
	"unicode/utf8"
)

// formula are the characters with which a cell begins that spreadsheets take for a formula, or that hide
// such a character; the full-width ones count in some languages. The apostrophe is the mark itself.
const formula = "=+-@\t\r\n＝＋－＠'"

// EscapeCell returns a text for a cell of a CSV file. A text that spreadsheets would take for a formula,
// or that begins with an apostrophe, gets an apostrophe in front, so that its content is not executed.
// [UnescapeCell] is its inverse, for every text.
func EscapeCell(s string) string {
	if risky(s) {
		return "'" + s
	}
	return s
}

// UnescapeCell returns the text that [EscapeCell] has put into a cell. Other texts are unchanged.
func UnescapeCell(s string) string {
	if rest, ok := strings.CutPrefix(s, "'"); ok && risky(rest) {
		return rest
	}
	return s
}

func risky(s string) bool {
	c, _ := utf8.DecodeRuneInString(s)
	return s != "" && strings.ContainsRune(formula, c)
}
