// Package errtest checks what an error names instead of its sentence.
package errtest

import (
	"strings"
	"testing"
)

// Names reports whether text contains each of the words, which spaces separate: a field, a position, a
// number, a key word. A test that lists them survives a better sentence.
func Names(text, words string) bool {
	for word := range strings.FieldsSeq(words) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// Want ends the test unless there is an error, and it names each of the words.
func Want(t testing.TB, err error, words string) {
	t.Helper()
	if err == nil || !Names(err.Error(), words) {
		t.Fatalf("the error is %v, want one with the words %q", err, words)
	}
}
