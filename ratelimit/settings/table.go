package settings

import (
	"reflect"
	"slices"
	"strings"
)

// Variable is one row of the table of settings.
type Variable struct {
	Name    string   // the variable, by the name that the specification has for it
	Aliases []string // what it may be called as well; mostly nothing or one name
	Default string   // its default, as one would write it; empty for none
	Doc     string   // what it means
	Group   string   // the heading that it belongs under
	Secret  bool     // its value is not for a log
}

// Table lists all settings, in the order of the Settings fields. The variables of
// single mogrifiers are not in it: the row of AGENTSTATS_MOGRIFIERS tells of them.
func Table() []Variable {
	all := rows()
	table := make([]Variable, len(all))
	for i, r := range all {
		table[i] = r.Variable
	}
	return table
}

// row is a Variable and the field that it fills.
type row struct {
	Variable
	index []int             // of the field in Settings
	tag   reflect.StructTag // of the field
}

// names are all names of the row, the specification's first.
func (r *row) names() []string {
	return append([]string{r.Name}, r.Aliases...)
}

// field is where the row's value is in s.
func (r *row) field(s *Settings) reflect.Value {
	return reflect.ValueOf(s).Elem().FieldByIndex(r.index)
}

// rows reads the tags of Settings.
func rows() []row {
	var all []row
	group := ""
	for f := range fields(reflect.TypeFor[Settings]()) {
		if g := f.Tag.Get("group"); g != "" {
			group = g
		}
		if f.Type == reflect.TypeFor[KV]() {
			all = append(all, rowsOfKV(f, group)...)
		} else if f.Tag.Get("env") != "" {
			all = append(all, row{index: f.Index, tag: f.Tag, Variable: Variable{
				Name: f.Tag.Get("env"), Aliases: strings.Fields(f.Tag.Get("alias")), Default: f.Tag.Get("envDefault"),
				Doc: f.Tag.Get("doc"), Group: group, Secret: f.Tag.Get("secret") == "true",
			}})
		}
	}
	return all
}

// rowsOfKV are the rows of one key-value store. The outer field's tags are the
// prefixes of its variables, and a default that only this store has.
func rowsOfKV(outer reflect.StructField, group string) []row {
	var all []row
	name, value, _ := strings.Cut(outer.Tag.Get("envDefault"), "=")
	for f := range fields(outer.Type) {
		r := row{index: slices.Concat(outer.Index, f.Index), tag: f.Tag, Variable: Variable{
			Name: outer.Tag.Get("env") + f.Tag.Get("env"), Aliases: []string{outer.Tag.Get("alias") + f.Tag.Get("env")},
			Default: f.Tag.Get("envDefault"), Doc: f.Tag.Get("doc"), Group: group, Secret: f.Tag.Get("secret") == "true",
		}}
		if f.Tag.Get("env") == name {
			r.Default = value
		}
		all = append(all, r)
	}
	return all
}

func fields(t reflect.Type) func(yield func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for i := range t.NumField() {
			if !yield(t.Field(i)) {
				return
			}
		}
	}
}
