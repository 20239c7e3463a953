package settings

import (
	"strconv"
	"strings"
)

// hidden stands for a secret.
const hidden = "***"

// maskUser hides user and password in a URL, and whatever else stands before an
// "@": where a password ends is not for sure.
func maskUser(text string) string {
	at := strings.LastIndex(text, "@")
	if at < 0 {
		return text
	}
	scheme, _, ok := strings.Cut(text[:at], "://")
	if !ok || strings.ContainsAny(scheme, ":@,/") {
		return hidden + text[at:]
	}
	return scheme + "://" + hidden + text[at:]
}

// quote is a value for an error: on one line, not too long, without a password.
func quote(text string) string {
	const longest = 80
	text = maskUser(text)
	if len(text) > longest {
		text = text[:longest] + "..."
	}
	return strconv.Quote(text)
}

// quoteItem is quote for an item of a list. A password may contain a comma, so
// with an "@" anywhere no item is safe to show.
func quoteItem(all []string, i int) string {
	if strings.Contains(strings.Join(all, ","), "@") {
		return "item " + strconv.Itoa(i+1)
	}
	return quote(all[i])
}
