package config

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ashlar-go/ashlar/internal/suggest"
	"github.com/ashlar-go/ashlar/internal/yamltree"
	"github.com/ashlar-go/ashlar/ratelimit"
)

const (
	// maxNesting bounds the nesting of lists and maps. A level of rules takes two of
	// them, so the bound of Compile is reached first.
	maxNesting = 300
	// maxKeyBytes bounds the total length of the composite keys of a file. Each repeats
	// the keys and values of the rules above it, so that the total can grow with the
	// square of the file.
	maxKeyBytes = 64 << 20
)

// decoder decodes the nodes of one document.
type decoder struct {
	*document
	table     []ratelimit.Field
	keyBytes  int                          // at most maxKeyBytes
	inherited map[*yamltree.Node]inherited // the joined maps that begin with fields of a merge key
	known     map[string][]string          // see knownKeys
	ofRule    []field                      // see ruleFields
	ofLimit   []field                      // those that the options describe
	above     int                          // the length of the composite key of the descriptor around the rule
}

// fields decodes a map, of a rule if it is not nil. Each of its keys is in the table, or reported.
func (d *decoder) fields(v *value, r *ratelimit.Rule, in string, table []field) {
	pairs := d.pairs(v.value, keyFault)
	usable := make([]pair, 0, len(pairs))
	for _, p := range pairs {
		if !slices.ContainsFunc(table, func(f field) bool { return f.name == p.name }) {
			if p.name = d.unexpected(p, in, table); p.name == "" || slices.ContainsFunc(pairs, named(p.name)) {
				continue
			}
		}
		usable = append(usable, p)
	}
	for _, f := range table {
		if i := slices.IndexFunc(usable, named(f.name)); i >= 0 {
			f.decode(r, v.field(usable[i]))
		}
	}
}

func named(name string) func(pair) bool { return func(p pair) bool { return p.name == name } }

// unexpected reports a key that its map must not have. It returns the key of the table
// that was probably meant, so that its value is checked too and Compile does not miss it.
func (d *decoder) unexpected(p pair, in string, table []field) string {
	where := d.knownKeys()[p.name]
	if where == nil {
		return d.unknown(p, table)
	}
	if in != inDocument || p.name != "name" { // resources of a discovery server have one, and so do files made of them
		d.warn(p.key.Pos, "key '%s' has no effect %s: it belongs %s", p.name, in, strings.Join(slices.Sorted(slices.Values(where)), " or "))
	}
	if p.name != "metadata" {
		d.check(p.value)
	}
	return ""
}

// unknown reports an unknown key. It returns the most similar one if that is in the table, else "". Of equally
// similar keys, one of the table wins.
func (d *decoder) unknown(p pair, table []field) string {
	if len(d.faults) > maxFaults {
		return ""
	}
	keys := make([]string, len(table))
	for i, f := range table {
		keys[i] = f.name
	}
	meant, hint := suggest.Among(p.name, append(keys, slices.Sorted(maps.Keys(d.knownKeys()))...)), ""
	if meant != "" {
		hint = fmt.Sprintf(": did you mean '%s'?", meant)
	}
	d.fault(p.key.Pos, "config error, unknown key '%.100s'%s", p.name, hint)
	if !slices.Contains(keys, meant) {
		return ""
	}
	return meant
}

// knownKeys returns all keys of the format with the kinds of maps that have them. It
// derives them from the tables, so that nothing else lists keys.
func (d *decoder) knownKeys() map[string][]string {
	if len(d.known) > 0 {
		return d.known
	}
	for in, table := range map[string][]field{
		inDocument: d.documentFields(new(ratelimit.Domain)),
		inRule:     d.ofRule,
		inLimit:    d.ofLimit, // those of candidate have the same names
		inReplaces: {{name: "name"}},
	} {
		for _, f := range table {
			d.known[f.name] = append(d.known[f.name], in)
		}
	}
	return d.known
}

// list calls f with each map of a list of maps; null is an empty list.
func (d *decoder) list(v *value, want string, f func(*value)) {
	switch v.value.Kind {
	case yamltree.Null:
	case yamltree.List:
		d.maps(v.value, func(n *yamltree.Node) { f(v.element(n)) })
	default:
		d.mismatch(v, want)
	}
}

// maps calls f with each map of a list and reports the elements of other types.
func (d *decoder) maps(list *yamltree.Node, f func(n *yamltree.Node)) {
	for _, n := range list.Items {
		shown := "[...]"
		switch n.Kind {
		case yamltree.Map:
			f(n)
			continue
		case yamltree.Null, yamltree.Text:
			v, ok := d.scalar(n)
			if !ok {
				continue
			}
			shown = fmt.Sprint(v)
		}
		d.fault(n.Pos, "config error, yaml file contains list of type other than map: %.100s", shown)
	}
}

// isMap reports whether the value is a map. It reports a fault for anything else but null.
func (d *decoder) isMap(v *value, want string) bool {
	if v.value.Kind == yamltree.List || v.value.Kind == yamltree.Text {
		d.mismatch(v, want)
	}
	return v.value.Kind == yamltree.Map
}

// scalar decodes a scalar; null is the zero value.
func scalar[T string | bool | uint32](d *decoder, v *value, want string) (out T) {
	if v.value.Kind >= yamltree.List {
		d.mismatch(v, want)
	} else if !d.checkScalar(v.value) {
		v.faulty = true
	} else if err := v.value.Decode(&out); err != nil {
		d.faultIn(v, "error loading config file: yaml: %.94s: %s must be %s", err, v.name, want)
	}
	return out
}

// faultIn reports a fault of a value.
func (d *decoder) faultIn(v *value, format string, args ...any) {
	v.faulty = true
	d.fault(v.value.Pos, format, args...)
}

// mismatch reports a value of the wrong kind.
func (d *decoder) mismatch(v *value, want string) {
	v.faulty = true
	if v.value.Kind < yamltree.List && !d.checkScalar(v.value) {
		return
	}
	d.fault(v.value.Pos, "error loading config file: yaml: cannot unmarshal %s: %s must be %s", tagged(v.value), v.name, want)
	d.check(v.value)
}

// check validates a value whose key has no meaning here. The reference service validates
// every value alike: keys must be known, lists must hold maps, and scalars must be
// strings, integers or booleans (REFERENCE.md, 7.2).
func (d *decoder) check(n *yamltree.Node) {
	switch n.Kind {
	case yamltree.List:
		d.maps(n, d.check)
	case yamltree.Map:
		for _, p := range d.pairs(n, keyFault) {
			if d.knownKeys()[p.name] == nil {
				d.unknown(p, nil)
			} else if p.name != "metadata" {
				d.check(p.value)
			}
		}
	default:
		d.checkScalar(n)
	}
}

// checkScalar reports a scalar that is not of a type that the format has.
func (d *decoder) checkScalar(n *yamltree.Node) bool {
	v, ok := d.scalar(n)
	if !ok {
		return false
	}
	switch v.(type) {
	case nil, string, int, bool, time.Time:
		return true
	}
	kind := map[string]string{"!!float": "a floating-point number", "!!int": "an integer beyond 64 bits"}[n.Tag]
	d.fault(n.Pos, "error checking config: '%.100s' is %.100s, not a string, an integer or a boolean: quote it to make it a string",
		n.Text, cmp.Or(kind, "of type "+n.Tag))
	return false
}

// json decodes a value as JSON has it. It returns nil for the rest, and reports a fault.
func (d *decoder) json(n *yamltree.Node) (v any) {
	switch n.Kind {
	case yamltree.Map:
		m := make(map[string]any)
		for _, p := range d.pairs(n, metadataKeyFault) {
			m[p.name] = d.json(p.value)
		}
		return m
	case yamltree.List:
		list := []any{}
		for _, item := range n.Items {
			list = append(list, d.json(item))
		}
		return list
	}
	v, ok := d.scalar(n)
	if !ok {
		return nil
	}
	switch s := v.(type) {
	case nil, bool, int:
	case int64:
		v = float64(s)
	case uint64:
		v = float64(s)
	case float64:
		ok = !math.IsNaN(s) && !math.IsInf(s, 0)
	case time.Time:
		v = n.Text
	case string:
		ok = utf8.ValidString(s)
	default:
		ok = false
	}
	if !ok {
		d.fault(n.Pos, "error parsing metadata: '%.100s' (%.100s) is not a JSON value: use a string, a finite number, a boolean, null, a list or a map",
			n.Text, n.Tag)
		return nil
	}
	return v
}
