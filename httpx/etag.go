package httpx

import (
	"net/http"
	"strconv"
	"strings"
)

// VersionTag is the strong entity tag of a record's version. The id keeps the tags of
// two records apart.
func VersionTag(id string, version int64) string {
	return `"` + id + "." + strconv.FormatInt(version, 10) + `"`
}

// SetTag puts the entity tag on an answer, and lets the client keep the answer as long
// as it asks each time whether it is still right.
func SetTag(w http.ResponseWriter, tag string) {
	h := w.Header()
	h.Set("Etag", tag)
	h["Cache-Control"] = revalidated
}

// revalidated is shared by all answers: it has no room for a second value.
var revalidated = []string{"private, no-cache"}

// IfMatch is nil if the request may change the record with this tag: it has no
// If-Match, or one with the tag or with "*". Else it is a 412. Tags are
// compared strongly (RFC 9110, 13.1.1), that of a compressed answer counts as the one
// that [Gzip] made it from.
func IfMatch(r *http.Request, tag string) error {
	lines := r.Header["If-Match"]
	if len(lines) == 0 {
		return nil
	}
	for element := range tags(lines) {
		if element == "*" || element[0] == '"' && plainTag(element) == tag {
			return nil
		}
	}
	return Errorf(http.StatusPreconditionFailed,
		"The record has changed: it is %s now, If-Match is %s", tag, show(strings.Join(lines, ", ")))
}

// IfNoneMatch is nil if the request may go on to change or create the record with this
// tag, which is empty if there is none: it has no If-None-Match, or one that does
// not match. Else it is a 412 (RFC 9110, 13.1.2). For GET there is [NotModified].
func IfNoneMatch(r *http.Request, tag string) error {
	if _, ok := matchWeakly(r, tag); !ok {
		return nil
	}
	return Errorf(http.StatusPreconditionFailed, "The record is there already: it is %s, If-None-Match is %s",
		tag, show(strings.Join(r.Header["If-None-Match"], ", ")))
}

// NotModified answers 304 if the client of a GET or HEAD has the answer with this tag,
// and reports whether it did. The tag must have been set, by [SetTag]; a client that
// holds the compressed form is given back that form's tag.
func NotModified(w http.ResponseWriter, r *http.Request, tag string) bool {
	matched, ok := matchWeakly(r, tag)
	if !ok || r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	if matched != "*" && !strings.HasPrefix(tag, "W/") { // a weak one stands for both forms
		w.Header().Set("Etag", matched)
	}
	w.WriteHeader(http.StatusNotModified)
	return true
}

// matchWeakly finds the element of If-None-Match that stands for the tag.
func matchWeakly(r *http.Request, tag string) (matched string, ok bool) {
	if tag == "" {
		return "", false
	}
	for element := range tags(r.Header["If-None-Match"]) {
		if element == "*" {
			return element, true
		}
		strong := strings.TrimPrefix(element, "W/")
		if plainTag(strong) == strings.TrimPrefix(tag, "W/") {
			return strong, true
		}
	}
	return "", false
}

// tags goes through the elements of If-Match or If-None-Match: "*", and entity tags,
// which may hold commas. It ends where something else comes.
func tags(lines []string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for _, line := range lines {
			for {
				line = strings.TrimLeft(line, " \t,")
				element, rest, ok := cutTag(line)
				if !ok {
					break
				}
				if !yield(element) {
					return
				}
				line = rest
			}
		}
	}
}

// cutTag cuts off the first element.
func cutTag(s string) (element, rest string, ok bool) {
	if strings.HasPrefix(s, "*") {
		return "*", s[1:], true
	}
	start := 0
	if strings.HasPrefix(s, "W/") {
		start = len("W/")
	}
	if len(s) <= start || s[start] != '"' {
		return "", "", false
	}
	end := strings.IndexByte(s[start+1:], '"')
	if end < 0 {
		return "", "", false
	}
	end += start + 2
	return s[:end], s[end:], true
}
