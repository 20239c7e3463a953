package sqlstore

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
)

// column is a column of a table: the field it is for, and how values get in and out.
type column struct {
	*inventory.Field
	key bool // part of a unique key, or a reference: what an update may break
}

// nullable reports whether the column may be null: that of a pointer.
func (c *column) nullable() bool { return c.Nullable }

// bind is the value of the field in a record, as the driver takes it.
func (c *column) bind(rec reflect.Value, d *Dialect) (any, error) {
	v := c.In(rec)
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil, nil
		}
		v = v.Elem()
	}
	switch c.Kind {
	case inventory.Text:
		return v.String(), nil
	case inventory.Int:
		return v.Int(), nil
	case inventory.Float:
		return v.Float(), nil
	case inventory.Bool:
		return v.Bool(), nil
	case inventory.Time:
		return d.Time(v.Addr().Interface().(*time.Time).UTC()), nil
	}
	if v.Kind() == reflect.Slice && v.IsNil() {
		return "[]", nil
	}
	doc, err := json.Marshal(v.Interface())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Column, err)
	}
	return string(doc), nil
}

// operand is a value of a query as the driver takes it.
func operand(v any, d *Dialect) any {
	if t, ok := v.(time.Time); ok {
		return d.Time(t.UTC())
	}
	return v
}

// set gives the field of a record the value that the driver has for it.
func (c *column) set(rec reflect.Value, cell any) error {
	v := c.In(rec)
	if cell == nil {
		if !c.nullable() && c.Kind != inventory.Object {
			return fmt.Errorf("%s in the database is null", c.Column)
		}
		return nil
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	if !c.put(v, cell) {
		return fmt.Errorf("%s in the database is a %T, which is no %s", c.Column, cell, c.Kind)
	}
	return nil
}

// put stores a cell, if it is of a type that the kind of the column has.
func (c *column) put(v reflect.Value, cell any) bool {
	switch from := cell.(type) {
	case string:
		return c.putText(v, from)
	case []byte:
		return c.putText(v, string(from))
	case int64:
		return c.putInt(v, from)
	case float64:
		if c.Kind == inventory.Float {
			v.SetFloat(from)
		}
		return c.Kind == inventory.Float
	case bool:
		if c.Kind == inventory.Bool {
			v.SetBool(from)
		}
		return c.Kind == inventory.Bool
	case time.Time:
		if c.Kind == inventory.Time {
			*v.Addr().Interface().(*time.Time) = from.UTC()
		}
		return c.Kind == inventory.Time
	}
	return false
}

func (c *column) putText(v reflect.Value, s string) bool {
	switch c.Kind {
	case inventory.Text:
		v.SetString(s)
		return true
	case inventory.List:
		if list, ok := plainList(s); ok {
			v.Set(reflect.ValueOf(list))
			return true
		}
		return json.Unmarshal([]byte(s), v.Addr().Interface()) == nil
	case inventory.Object:
		return json.Unmarshal([]byte(s), v.Addr().Interface()) == nil
	}
	return false
}

// plainList reads an array of texts without escapes, which nearly all lists are, some times
// faster than package json. It is false for anything else.
func plainList(s string) (list []string, ok bool) {
	rest, ok := strings.CutPrefix(s, "[")
	if !ok || strings.ContainsRune(s, '\\') {
		return nil, false
	}
	for list = []string{}; rest != "]"; {
		if len(list) > 0 {
			if rest, ok = strings.CutPrefix(rest, ","); !ok {
				return nil, false
			}
			rest = strings.TrimPrefix(rest, " ")
		}
		if rest, ok = strings.CutPrefix(rest, `"`); !ok {
			return nil, false
		}
		var text string
		if text, rest, ok = strings.Cut(rest, `"`); !ok {
			return nil, false
		}
		list = append(list, text)
	}
	return list, true
}

// putInt takes a number for what databases without a type of their own keep as one: a bool,
// and a time in microseconds since 1970.
func (c *column) putInt(v reflect.Value, n int64) bool {
	switch c.Kind {
	case inventory.Int:
		v.SetInt(n)
	case inventory.Float:
		v.SetFloat(float64(n))
	case inventory.Bool:
		v.SetBool(n != 0)
	case inventory.Time:
		*v.Addr().Interface().(*time.Time) = time.UnixMicro(n).UTC()
	default:
		return false
	}
	return true
}

// same reports whether two cells are alike. It may miss some that are.
func same(a, b any) bool {
	if t, ok := a.(time.Time); ok {
		u, ok := b.(time.Time)
		return ok && t.Equal(u)
	}
	if _, ok := a.([]byte); ok {
		return false
	}
	if _, ok := b.([]byte); ok {
		return false
	}
	return a == b
}

// tallied is the value of a cell, or of a filter, as the tallies have it: a text, which is
// empty for no value.
func (c *column) tallied(cell any) string {
	switch v := cell.(type) {
	case string:
		return v
	case int64:
		if c.Kind == inventory.Bool {
			return strconv.FormatBool(v != 0)
		}
		return strconv.FormatInt(v, 10)
	case bool:
		return strconv.FormatBool(v)
	case nil:
		return ""
	}
	return fmt.Sprint(cell)
}
