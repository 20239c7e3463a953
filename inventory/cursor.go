package inventory

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// maxCursor is more than any cursor has: 16 fields to sort by, of 300 characters that JSON
// writes in six bytes.
const maxCursor = 1 << 16

// cursor is a place in a list and the order that it belongs to.
type cursor struct {
	Order  string            `json:"o"`
	Values []json.RawMessage `json:"v,omitempty"`
	ID     string            `json:"i"`
}

// order names the list and its sort order.
func (q *Query) order() string {
	var name strings.Builder
	name.WriteString(q.Resource.name)
	for _, key := range q.Sort {
		fmt.Fprintf(&name, " %s %t", key.Field.Name, key.Desc)
	}
	return name.String()
}

// Cursor is a text with which the next page begins behind a record, usually the last of
// this one. It is for the same resource and order only; filters may change. Pages that
// follow each other by cursors never overlap and leave out nothing that was there
// all the time, whatever is created or deleted between them.
func (q *Query) Cursor(rec Record) string {
	p := q.PlaceOf(rec)
	c := cursor{Order: q.order(), ID: p.ID, Values: make([]json.RawMessage, len(p.Values))}
	for i, v := range p.Values {
		c.Values[i], _ = json.Marshal(v) // nil, a text, a number, a bool, or a time of this age
	}
	data, _ := json.Marshal(c) // texts only
	return base64.RawURLEncoding.EncodeToString(data)
}

// continueAt continues behind the place of a cursor. An empty one is the beginning.
func (q *Query) continueAt(text string) error {
	if text == "" {
		return nil
	}
	c, ok := decodeCursor(text)
	if !ok {
		return errNoCursor()
	}
	if c.Order != q.order() {
		return errors.New("belongs to another list or order: send the sortby it was made with, or cursor= to begin")
	}
	p := &Place{ID: c.ID, Values: make([]any, len(q.Sort))}
	if len(c.Values) != len(q.Sort) {
		return errNoCursor()
	}
	for i, key := range q.Sort {
		if p.Values[i], ok = key.Field.decode(c.Values[i]); !ok {
			return errNoCursor()
		}
	}
	q.After = p
	return nil
}

func errNoCursor() error {
	return errors.New("is none of this list: take it from the page before, or send cursor= to begin")
}

// decodeCursor reads a cursor of the exact form in which they are made.
func decodeCursor(text string) (c cursor, ok bool) {
	if len(text) > maxCursor {
		return c, false
	}
	data, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return c, false
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&c); err != nil {
		return c, false
	}
	_, err = decoder.Token()
	return c, errors.Is(err, io.EOF) && ValidID(c.ID)
}

// decode reads a value of the field from a cursor.
func (f *Field) decode(doc json.RawMessage) (value any, ok bool) {
	if string(doc) == "null" {
		return nil, true
	}
	var err error
	switch f.Kind {
	case Int:
		value, err = decodeAs[int64](doc)
	case Float:
		value, err = decodeAs[float64](doc)
	case Bool:
		value, err = decodeAs[bool](doc)
	case Time:
		var t time.Time
		t, err = decodeAs[time.Time](doc)
		value = instant(t)
	default:
		value, err = decodeAs[string](doc)
		ok := err == nil && value != "" && !strings.ContainsRune(value.(string), 0)
		return value, ok
	}
	return value, err == nil
}

func decodeAs[T any](doc json.RawMessage) (v T, err error) {
	err = json.Unmarshal(doc, &v)
	return v, err
}
