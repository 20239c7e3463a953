// Package listquery reads the parameters that all lists share: page, limit, sortby and cursor.
// The HTTP kit and the inventory read their own filters beside them.
package listquery

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/internal/suggest"
)

// The limits of a list query.
const (
	DefaultLimit = 10
	MaxLimit     = 100 // larger limits count as this
	// maxPage keeps the offset of a page far below the range of int64.
	maxPage = 1<<31 - 1
	// maxSortKeys is more than any list has sortable fields.
	maxSortKeys = 16
	// maxCursor bounds the length of a cursor: 16 sort keys of 300 characters, each up to six
	// bytes in JSON.
	maxCursor = 1 << 16
)

// sortKey is a field to sort by.
type sortKey struct {
	Field string
	Desc  bool
}

// Positive reads the values of page or limit. Without a value it returns byDefault; the error
// says what is valid.
func Positive(values []string, byDefault int64) (int64, error) {
	if len(values) == 0 {
		return byDefault, nil
	}
	n, err := strconv.ParseInt(values[0], 10, 64)
	if len(values) > 1 || err != nil || n < 1 || n > maxPage {
		return byDefault, fmt.Errorf("must be one integer from 1 to %d", maxPage)
	}
	return n, nil
}

// Sort reads the values of sortby, each <field>:asc or <field>:desc. The error says what is valid.
func Sort(values, sortable []string) ([]sortKey, error) {
	if len(values) > maxSortKeys {
		return nil, fmt.Errorf("must occur at most %d times", maxSortKeys)
	}
	var keys []sortKey
	for _, value := range values {
		name, order, _ := strings.Cut(value, ":")
		switch {
		case order != "asc" && order != "desc" || !slices.Contains(sortable, name):
			message := "must be <field>:asc or <field>:desc with one of the fields " + strings.Join(sortable, ", ")
			if meant := suggest.Among(name, sortable); meant != "" && (order == "" || meant != name) {
				message += ": did you mean " + meant + ":" + cmp.Or(order, "asc") + "?"
			}
			return nil, errors.New(message)
		case slices.ContainsFunc(keys, func(k sortKey) bool { return k.Field == name }):
			return nil, errors.New("duplicate field " + name + ": name it once")
		}
		keys = append(keys, sortKey{name, order == "desc"})
	}
	return keys, nil
}

// EncodeCursor returns a position in a list as a string for URLs. position must be encodable as
// JSON.
func EncodeCursor(position any) string {
	data, _ := json.Marshal(position)
	return base64.RawURLEncoding.EncodeToString(data)
}

// DecodeCursor reads a cursor into position, a pointer. It reports whether the cursor has exactly
// the form that EncodeCursor produces.
func DecodeCursor(cursor string, position any) bool {
	if len(cursor) > maxCursor {
		return false
	}
	data, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil {
		return false
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(position); err != nil {
		return false
	}
	_, err = decoder.Token()
	return errors.Is(err, io.EOF)
}
