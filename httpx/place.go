package httpx

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// placeOf names an offset as a person counts: from 1, columns in characters.
func placeOf(data []byte, offset int) string {
	before := data[:min(max(offset, 0), len(data))]
	line := 1 + bytes.Count(before, []byte{'\n'})
	start := bytes.LastIndexByte(before, '\n') + 1
	return fmt.Sprintf("line %d, column %d", line, 1+utf8.RuneCount(before[start:]))
}

// invalidUTF8 is the offset of the first byte that is none, -1 if there is no such.
func invalidUTF8(data []byte) int {
	if utf8.Valid(data) {
		return -1
	}
	for i := 0; i < len(data); {
		c, size := utf8.DecodeRune(data[i:])
		if c == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}
