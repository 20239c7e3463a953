package config

import (
	"bytes"
	"iter"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// reportSyntax reports what the YAML library did not understand, at the place
// that can be made out from what the library says: mostly the line in which the
// list or map began that is broken.
func reportSyntax(r *report, data []byte, err error) {
	text := libraryText(err)
	line, known := syntaxLine(err)
	if !known {
		if at, hint := placeOf(data, err); hint != "" {
			r.fault(at, "error loading config file: %s: %s", text, hint)
			return
		}
	}
	if strings.Contains(text, "tab character") {
		line = nextTab(data, line)
	}
	at, tabs := firstText(data, line)
	if tabs {
		text += ": indent with spaces, not with tabs"
	}
	r.fault(at, "error loading config file: %s", text)
}

var (
	syntaxErrorLine = regexp.MustCompile(`^yaml: line (\d+): (did not find expected)?`)
	unknownAnchor   = regexp.MustCompile(`unknown anchor '(.*)' referenced`)
)

// syntaxLine is the line that a syntax error names, 1 if it names none. The
// library counts lines from 0 in the errors of its parser, from 1 elsewhere.
func syntaxLine(err error) (line int, known bool) {
	m := syntaxErrorLine.FindStringSubmatch(err.Error())
	if m == nil {
		return 1, false
	}
	line, _ = strconv.Atoi(m[1])
	if m[2] != "" {
		line++
	}
	return line, true
}

// placeOf finds the place of errors that come without a line, and says what to do
// about them; if there is nothing to say, there was nothing to find.
func placeOf(data []byte, err error) (at mark, hint string) {
	if m := unknownAnchor.FindStringSubmatch(err.Error()); m != nil {
		return markAt(data, bytes.Index(data, []byte("*"+m[1]))), "an anchor has to come before its alias"
	}
	if i := firstUnreadable(data); i >= 0 {
		return markAt(data, i), "the file must be text in UTF-8"
	}
	return startOfFile, ""
}

// firstText is the place of the first character of a line that is not a blank,
// and whether tabs come before it. If the line is blank or there is none, the
// last one before it counts.
func firstText(data []byte, line int) (at mark, tabs bool) {
	at, n := startOfFile, 0
	for text := range lines(data) {
		text = strings.TrimPrefix(text, "\ufeff")
		n++
		if in := indent(text); in != text {
			at, tabs = mark{n, len(in) + 1}, strings.Contains(in, "\t")
		}
		if n == line {
			break
		}
	}
	return at, tabs
}

// nextTab is the first line from the given one on whose indentation has a tab.
func nextTab(data []byte, line int) int {
	n := 0
	for text := range lines(data) {
		if n++; n >= line && strings.Contains(indent(text), "\t") {
			return n
		}
	}
	return line
}

func indent(line string) string {
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

// lines yields the lines of a file without their ends.
func lines(data []byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		start := 0
		for i, c := range string(data) {
			if n := breakLen(data[i:], c); n > 0 {
				if i >= start && !yield(string(data[start:i])) {
					return
				}
				start = i + n
			}
		}
		yield(string(data[start:]))
	}
}

// breakLen is the length of the line break that data begins with, by the rules of
// YAML 1.1; 0 if it begins with something else.
func breakLen(data []byte, c rune) int {
	switch c {
	case '\r':
		if bytes.HasPrefix(data, []byte("\r\n")) {
			return 2
		}
		return 1
	case '\n':
		return 1
	case '\u0085', '\u2028', '\u2029':
		return utf8.RuneLen(c)
	}
	return 0
}

// markAt is the place of the byte at an offset; an offset that is not in the file
// is its start.
func markAt(data []byte, offset int) mark {
	at := startOfFile
	if offset < 0 {
		return at
	}
	last := ""
	for text := range lines(data[:offset]) {
		at.line++
		last = text
	}
	at.line--
	at.column += utf8.RuneCountInString(strings.TrimPrefix(last, "\ufeff"))
	return at
}

// firstUnreadable is the offset of the first byte that is not part of UTF-8 text
// as YAML allows it, or -1.
func firstUnreadable(data []byte) int {
	for i, c := range string(data) {
		if c == utf8.RuneError && !bytes.HasPrefix(data[i:], []byte("\ufffd")) || isControl(c) {
			return i
		}
	}
	return -1
}

func isControl(c rune) bool {
	return c < ' ' && c != '\t' && c != '\n' && c != '\r' || c >= 0x7f && c < 0xa0 && c != 0x85 || c == 0xfffe || c == 0xffff
}
