package records

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/internal/listquery"
)

// cursor is the encoded form of a position in a list and the order that it belongs to.
type cursor struct {
	Order  string            `json:"o"`
	Values []json.RawMessage `json:"v,omitempty"`
	ID     string            `json:"i"`
}

// order names the list and its sort order.
func (q *Query) order() string {
	var name strings.Builder
	name.WriteString(q.Resource.Name)
	for _, key := range q.Sort {
		fmt.Fprintf(&name, " %s %t", key.Field.Name, key.Desc)
	}
	return name.String()
}

// Cursor returns a string with which the next page starts after a record, usually the last
// one of a page. It is valid for the same resource and order; filters may change. Pages that
// follow each other by cursors do not overlap, and contain every record that exists
// throughout, whatever is created or deleted in between.
func (q *Query) Cursor(rec Record) string {
	p := q.PlaceOf(rec)
	c := cursor{Order: q.order(), ID: p.ID, Values: make([]json.RawMessage, len(p.Values))}
	for i, v := range p.Values {
		c.Values[i], _ = json.Marshal(v) // nil, a string, a number, a bool, or a time in range: no error
	}
	return listquery.EncodeCursor(c)
}

var errCursor = BadFormat("meta.next_cursor of the previous page of this list, or empty to start")

// continueAt starts the page after a cursor. An empty one is the start of the list.
func (q *Query) continueAt(text string) error {
	if text == "" {
		return nil
	}
	var c cursor
	if !listquery.DecodeCursor(text, &c) || !ValidID(c.ID) {
		return errCursor
	}
	if c.Order != q.order() {
		return Inconsistent("that of a list with the same filters and sortby, or empty to start")
	}
	p := &Place{ID: c.ID, Values: make([]any, len(q.Sort))}
	if len(c.Values) != len(q.Sort) {
		return errCursor
	}
	for i, key := range q.Sort {
		var ok bool
		if p.Values[i], ok = key.Field.decodeCursor(c.Values[i]); !ok {
			return errCursor
		}
	}
	q.After = p
	return nil
}

// decodeCursor decodes a value of the field in a cursor.
func (f *Field) decodeCursor(doc json.RawMessage) (value any, ok bool) {
	v := reflect.New(extraTypes[f.Kind])
	if json.Unmarshal(doc, v.Interface()) != nil {
		return nil, false
	}
	switch value := f.valueIn(v.Elem()).(type) {
	case string:
		return value, !strings.ContainsRune(value, 0)
	case time.Time:
		return storedTime(value), true
	default:
		return value, true
	}
}
