package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/inventory/internal/encode"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// value returns a value of JSON in the Go type of the kind of its field, or if the schema does not have the field, in one
// that fits: a string, an int64, a float64, a bool, a []string, or what json.Unmarshal makes of it.
func value(f *records.Field, text json.RawMessage) (any, error) {
	numbers := json.NewDecoder(bytes.NewReader(text))
	numbers.UseNumber()
	var v any
	if err := numbers.Decode(&v); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil && (f == nil || f.Kind != records.Float) {
			return n, nil
		}
		return v.Float64()
	case string:
		if f != nil && f.Kind == records.Time {
			return time.Parse(time.RFC3339, v)
		}
	case []any:
		var list []string
		if json.Unmarshal(text, &list) == nil && !strings.Contains(string(text), "null") {
			return list, nil
		}
	}
	return v, nil
}

// encode returns the members of a record that a client may set. Of a new one they are those with a value.
func (c *Client) encode(rec records.Record, isNew bool) (map[string]json.RawMessage, error) {
	r, err := c.resource(rec)
	if err != nil {
		return nil, err
	}
	doc := map[string]json.RawMessage{}
	for name, v := range rec.Meta().Extra {
		if doc[name], err = json.Marshal(v); err != nil {
			return nil, fmt.Errorf("client: the field %s in Extra: %w", name, err)
		}
	}
	for _, f := range r.Fields() {
		v := f.Value(rec)
		zero := v == nil || reflect.ValueOf(v).IsZero() && reflect.ValueOf(v).Kind() != reflect.Struct
		switch {
		case f.ReadOnly || f.Hidden:
			delete(doc, f.Name)
		case f.Extra:
		case !zero || !isNew && !f.WriteOnly:
			doc[f.Name] = encode.Value(nil, f, v)
		}
	}
	return doc, nil
}
