package httpx

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/internal/printable"
)

// VersionTag returns the strong entity tag of a version of a record.
func VersionTag(id string, version int64) string {
	return `"` + id + "." + strconv.FormatInt(version, 10) + `"`
}

// SetTag sets the entity tag of a response, and lets the client cache the response if it
// revalidates it each time.
func SetTag(w http.ResponseWriter, tag string) {
	h := w.Header()
	h.Set("Etag", tag)
	h["Cache-Control"] = revalidated
}

// revalidated is shared by all responses; its capacity is 1, so that adding to it copies it.
var revalidated = []string{"private, no-cache"}

// IfMatch returns nil if the request may change the record with this tag: it has no If-Match, or
// one with the tag or with "*". Otherwise it returns a 412. Tags are compared strongly (RFC 9110,
// section 13.1.1); the tag of a compressed response counts as the tag that [Gzip] made it from.
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
		"The record has changed: its ETag is %s, If-Match is %s", tag, printable.Truncate(strings.Join(lines, ", "), maxPrinted))
}

// IfNoneMatch returns nil if the request may change or create the record with this tag, which is
// empty for a record that does not exist: it has no If-None-Match, or one that does not match.
// Otherwise it returns a 412 (RFC 9110, section 13.1.2). For GET use [NotModified].
func IfNoneMatch(r *http.Request, tag string) error {
	if _, ok := matchWeakly(r, tag); !ok {
		return nil
	}
	return Errorf(http.StatusPreconditionFailed, "The record exists: its ETag is %s, If-None-Match is %s",
		tag, printable.Truncate(strings.Join(r.Header["If-None-Match"], ", "), maxPrinted))
}

// Preconditions returns nil if the request may change the record with this tag: both [IfMatch] and
// [IfNoneMatch] return nil.
func Preconditions(r *http.Request, tag string) error {
	if err := IfMatch(r, tag); err != nil {
		return err
	}
	return IfNoneMatch(r, tag)
}

// NotModified responds with 304 if the client of a GET or HEAD has the response with this tag,
// and reports whether it did. The tag must have been set with [SetTag]. A client that has the
// compressed form gets the tag of that form.
func NotModified(w http.ResponseWriter, r *http.Request, tag string) bool {
	matched, ok := matchWeakly(r, tag)
	if !ok || r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	if matched != "*" && !strings.HasPrefix(tag, "W/") { // a weak tag covers both forms
		w.Header().Set("Etag", matched)
	}
	w.WriteHeader(http.StatusNotModified)
	return true
}

// matchWeakly returns the element of If-None-Match that matches the tag.
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

// tags iterates over the elements of If-Match or If-None-Match: "*", and entity tags, which may
// contain commas. It stops at a malformed element.
func tags(lines []string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for _, line := range lines {
			for m := tagPattern.FindStringSubmatch(line); m != nil; m = tagPattern.FindStringSubmatch(line) {
				if !yield(m[1]) {
					return
				}
				line = line[len(m[0]):]
			}
		}
	}
}

// tagPattern matches the first element of a list.
var tagPattern = regexp.MustCompile(`^[ \t,]*(\*|(?:W/)?"[^"]*")`)
