package settings

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// set gives the row's field of s the value that text spells, or leaves it and
// returns what is wrong with text and what would be right.
func (r *row) set(s *Settings, text string) error {
	v := reflect.New(r.field(s).Type()).Elem()
	if err := r.decode(v, text); err != nil {
		return err
	}
	if !r.inBounds(v) {
		return fmt.Errorf("%s is out of range: %s", quote(text), r.right())
	}
	if err := r.checkShape(v); err != nil {
		return err
	}
	r.field(s).Set(v)
	return nil
}

// decode is set without bounds and shapes.
func (r *row) decode(v reflect.Value, text string) error {
	if v.Kind() == reflect.Slice && strings.TrimSpace(text) == "" {
		return nil // no items, as for the reference service
	}
	switch p := v.Addr().Interface().(type) {
	case *string:
		return r.decodeText(p, text)
	case *[]string:
		*p = list(text)
		return nil
	case *[]Pair:
		var err error
		*p, err = pairs(text, r.tag.Get("sep"))
		return err
	case *map[string]string:
		return r.decodeMap(p, text)
	}
	if err := decodeScalar(v, text); err != nil {
		return fmt.Errorf("%s is %w: %s", quote(text), err, r.right())
	}
	return nil
}

func (r *row) decodeText(p *string, text string) error {
	*p = text
	words, ok := r.tag.Lookup("oneof")
	if !ok {
		return nil
	}
	if *p = choose(words, text); *p == "" {
		return fmt.Errorf("%s is not known: %s", quote(text), r.right())
	}
	return nil
}

func (r *row) decodeMap(p *map[string]string, text string) error {
	all, err := pairs(text, r.tag.Get("sep"))
	*p = make(map[string]string, len(all))
	for i, pair := range all {
		if _, twice := (*p)[pair.Name]; twice {
			return fmt.Errorf("item %d has a name that is there already: use each once", i+1)
		}
		(*p)[pair.Name] = pair.Value
	}
	return err
}

// decodeScalar reads what has no parts, by the rules of the reference service:
// integers as in Go, 0x10 included. The error says what text is not.
func decodeScalar(v reflect.Value, text string) error {
	switch v.Kind() {
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		v.SetBool(b)
		return describe(err, "neither true nor false")
	case reflect.Float32, reflect.Float64:
		f, err := strconv.ParseFloat(text, v.Type().Bits())
		v.SetFloat(f)
		return describe(err, "no number")
	}
	if v.Type() == reflect.TypeFor[time.Duration]() {
		d, err := time.ParseDuration(text)
		v.SetInt(int64(d))
		return describe(err, "no duration")
	}
	n, err := strconv.ParseInt(text, 0, v.Type().Bits())
	v.SetInt(n)
	return describe(err, "no whole number")
}

// describe replaces the words of a parser, which are for programmers.
func describe(err error, words string) error {
	if errors.Is(err, strconv.ErrRange) {
		return errors.New("out of range")
	} else if err != nil {
		return errors.New(words)
	}
	return nil
}

// choose finds text among words, whatever its case. A word has its synonyms
// behind "=". The result is empty if text is none of them.
func choose(words, text string) string {
	for choice := range strings.FieldsSeq(words) {
		names := strings.Split(choice, "=")
		for _, name := range names {
			if strings.EqualFold(name, text) {
				return names[0]
			}
		}
	}
	return ""
}

// inBounds compares numbers and durations with the row's bounds. NaN is within
// none.
func (r *row) inBounds(v reflect.Value) bool {
	if lowest, ok := r.bound(v.Type(), "min"); ok && !(number(v) >= lowest) {
		return false
	}
	if beyond, ok := r.bound(v.Type(), "above"); ok && !(number(v) > beyond) {
		return false
	}
	highest, ok := r.bound(v.Type(), "max")
	return !ok || number(v) <= highest
}

func (r *row) bound(t reflect.Type, tag string) (float64, bool) {
	text, ok := r.tag.Lookup(tag)
	if !ok {
		return 0, false
	}
	v := reflect.New(t).Elem()
	if decodeScalar(v, text) != nil {
		return 0, false // a bound that a test of the table finds missing
	}
	return number(v), true
}

func number(v reflect.Value) float64 {
	if v.CanInt() {
		return float64(v.Int())
	}
	return v.Float()
}

// right says what the row takes.
func (r *row) right() string {
	if words, ok := r.tag.Lookup("oneof"); ok {
		return "use " + alternatives(words)
	}
	switch t := reflect.TypeFor[Settings]().FieldByIndex(r.index).Type; {
	case t.Kind() == reflect.Bool:
		return "use true or false"
	case t == reflect.TypeFor[time.Duration]():
		return "use a duration" + r.bounds() + ", such as 30s or 1m30s"
	case t.Kind() == reflect.Float32 || t.Kind() == reflect.Float64:
		return "use a number" + r.bounds()
	}
	return "use a whole number" + r.bounds()
}

// bounds is the row's bounds in words, after a blank.
func (r *row) bounds() string {
	lowest, highest, beyond := r.tag.Get("min"), r.tag.Get("max"), r.tag.Get("above")
	switch {
	case lowest != "" && highest != "":
		return " from " + lowest + " to " + highest
	case beyond != "" && highest != "":
		return " above " + beyond + ", up to " + highest
	case lowest != "":
		return " of at least " + lowest
	case beyond != "":
		return " above " + beyond
	case highest != "":
		return " of at most " + highest
	}
	return ""
}

// alternatives is "a, b or c", without synonyms.
func alternatives(words string) string {
	all := strings.Fields(words)
	for i, choice := range all {
		all[i], _, _ = strings.Cut(choice, "=")
	}
	last := len(all) - 1
	return strings.Join(all[:last], ", ") + " or " + all[last]
}
