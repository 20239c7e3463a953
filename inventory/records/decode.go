package records

import (
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Decode reads an array of new records from JSON, many times faster than a [Patch] for each. It
// returns the records that such patches would make, before they are checked.
//
// It reads up to MaxItems records in the form that most programs send: objects with fields that
// clients may set, each once, with numbers without an exponent, strings of ASCII without escapes,
// timestamps, true, false and null. It returns false for any other document, which may be valid: only
// patches say what is wrong with it.
func (r *Resource) Decode(doc string) (recs []Record, ok bool) {
	if _, ok := r.New().(Patcher); ok {
		return nil, false
	}
	d := &decoder{Resource: r, doc: doc, position: map[string]int{}}
	for i, f := range r.fields {
		if f.plain && f.Name != "" && !f.ReadOnly && i < 64 {
			d.position[f.Name] = i
		}
	}
	if !d.next('[') {
		return nil, false
	}
	for more := true; more; {
		rec := r.New()
		if len(recs) == MaxItems || !d.record(reflect.ValueOf(rec).Elem()) {
			return nil, false
		}
		recs = append(recs, rec)
		if more, ok = d.more(']'); !ok {
			return nil, false
		}
	}
	d.space()
	return recs, d.at == len(d.doc)
}

// decoder reads a document from the beginning to the end. Its methods return false for what it does
// not read.
type decoder struct {
	*Resource
	doc      string
	at       int
	position map[string]int // of the fields that it reads
}

func (d *decoder) space() {
	for d.at < len(d.doc) {
		switch d.doc[d.at] {
		case ' ', '\t', '\n', '\r':
			d.at++
		default:
			return
		}
	}
}

// next reads a character after white space.
func (d *decoder) next(c byte) bool {
	d.space()
	if d.at == len(d.doc) || d.doc[d.at] != c {
		return false
	}
	d.at++
	return true
}

// more reads a comma, or the end of an array or object.
func (d *decoder) more(end byte) (more, ok bool) {
	if d.next(',') {
		return true, true
	}
	return false, d.next(end)
}

// record reads an object into a struct.
func (d *decoder) record(into reflect.Value) bool {
	if !d.next('{') {
		return false
	}
	if d.next('}') {
		return true
	}
	for seen, more := uint64(0), true; more; {
		name, ok := d.text()
		i, known := d.position[name]
		if !ok || !known || seen&(1<<i) != 0 || !d.next(':') {
			return false
		}
		seen |= 1 << i
		f := d.fields[i]
		if d.space(); !d.value(f, f.In(into)) {
			return false
		}
		if more, ok = d.more('}'); !ok {
			return false
		}
	}
	return true
}

// text reads a string.
func (d *decoder) text() (s string, ok bool) {
	if !d.next('"') {
		return "", false
	}
	for start := d.at; d.at < len(d.doc); d.at++ {
		switch c := d.doc[d.at]; {
		case c == '"':
			d.at++
			return d.doc[start : d.at-1], true
		case c < ' ' || c == '\\' || c > '~':
			return "", false
		}
	}
	return "", false
}

// literal reads one of null, true and false.
func (d *decoder) literal(word string) bool {
	if !strings.HasPrefix(d.doc[d.at:], word) {
		return false
	}
	d.at += len(word)
	return true
}

// number reads a number without an exponent.
func (d *decoder) number() (s string, whole, ok bool) {
	start := d.at
	if d.at < len(d.doc) && d.doc[d.at] == '-' {
		d.at++
	}
	first := d.at
	digits := d.digits()
	if digits == 0 || digits > 1 && d.doc[first] == '0' {
		return "", false, false
	}
	if whole = d.at == len(d.doc) || d.doc[d.at] != '.'; !whole {
		d.at++
		if d.digits() == 0 {
			return "", false, false
		}
	}
	return d.doc[start:d.at], whole, true
}

func (d *decoder) digits() (n int) {
	for ; d.at < len(d.doc) && '0' <= d.doc[d.at] && d.doc[d.at] <= '9'; d.at++ {
		n++
	}
	return n
}

// value reads the value of a field.
func (d *decoder) value(f *Field, v reflect.Value) bool {
	if v.Kind() == reflect.Pointer {
		if d.literal("null") {
			return true
		}
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	switch f.Kind {
	case Int:
		s, whole, ok := d.number()
		n, err := strconv.ParseInt(s, 10, 64)
		v.SetInt(n)
		return ok && whole && err == nil
	case Float:
		s, _, ok := d.number()
		n, err := strconv.ParseFloat(s, 64)
		v.SetFloat(n)
		return ok && err == nil
	case Bool:
		yes := d.literal("true")
		v.SetBool(yes)
		return yes || d.literal("false")
	}
	s, ok := d.text()
	if f.Kind == Time {
		return ok && v.Addr().Interface().(*time.Time).UnmarshalText([]byte(s)) == nil
	}
	v.SetString(strings.Clone(s)) // not a part of the document, which would stay in memory
	return ok
}
