package settings

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// Reading holds what Read found: the settings that are set, and the errors. Its methods
// identify a setting by its Name, or by "-" and its flag if it has no variable. In their
// texts, $NAME stands for a setting and is replaced by the name that the environment uses.
type Reading struct {
	rows    []Setting
	environ map[string]string
	byID    map[string]*Setting
	setBy   map[string]string // the variable or -flag that set a setting, by its id
	written map[string]string // the string it was set to, by its id
	invalid map[string]bool   // by id
	errs    []error
}

// Read parses the settings of a table from defaults, environment variables and flags,
// each of which overrides the previous one, into the fields that the rows point to.
// Fields of invalid settings keep their defaults. flags may be nil.
func Read(rows []Setting, environ, flags map[string]string) *Reading {
	r := &Reading{
		rows: rows, environ: environ, byID: map[string]*Setting{},
		setBy: map[string]string{}, written: map[string]string{}, invalid: map[string]bool{},
	}
	unknown := maps.Clone(flags)
	for i := range rows {
		row := &rows[i]
		r.byID[row.id()] = row
		r.read(row, flags)
		delete(unknown, row.Flag)
	}
	for _, flag := range slices.Sorted(maps.Keys(unknown)) {
		r.errs = append(r.errs, fmt.Errorf("-%s: unknown setting", flag))
	}
	return r
}

func (r *Reading) read(row *Setting, flags map[string]string) {
	id := row.id()
	if row.Default != "" {
		r.parse(row, id, row.Default)
	}
	name, text, err := r.Lookup(row.names(), row.Empty)
	if given, ok := flags[row.Flag]; ok && row.Flag != "" {
		name, text, err = "-"+row.Flag, given, nil
	}
	if err != nil {
		r.Fail(id, err)
	}
	if name == "" {
		return
	}
	r.setBy[id], r.written[id] = name, text
	if err == nil {
		r.parse(row, name, text)
	}
}

func (r *Reading) parse(row *Setting, name, text string) {
	if err := row.Value.parse(text); err != nil {
		r.Fail(row.id(), fmt.Errorf("%s: %w%s", name, err, serviceLink(name, text)))
	}
}

// Lookup returns the first of the variables that is set, and its value. Empty variables
// count only if empty is true. It is an error if two of them have different values.
func (r *Reading) Lookup(names []string, empty bool) (name, text string, err error) {
	for _, n := range names {
		value, ok := r.environ[n]
		switch {
		case !ok || value == "" && (!empty || name != ""):
		case name == "" || text == "":
			name, text = n, value
		case value != text:
			return name, text, fmt.Errorf("%s, %s: two names of one setting have different values: unset one of them%s",
				name, n, serviceLink(name, text)+serviceLink(n, value))
		}
	}
	return name, text, nil
}

// Fail adds an error about a setting.
func (r *Reading) Fail(id string, err error) {
	r.invalid[id] = true
	r.errs = append(r.errs, err)
}

// Err joins all errors, in the order in which they were found.
func (r *Reading) Err() error { return errors.Join(r.errs...) }

// IsSet reports whether a variable or flag sets the setting.
func (r *Reading) IsSet(id string) bool { return r.setBy[id] != "" }

// SetBy returns the variable or flag that sets the setting, or "".
func (r *Reading) SetBy(id string) string { return r.setBy[id] }

// FirstSet returns the first of the settings that is set, or else the first.
func (r *Reading) FirstSet(ids ...string) string {
	return ids[max(0, slices.IndexFunc(ids, r.IsSet))]
}

// Invalid reports whether one of the settings has an error.
func (r *Reading) Invalid(ids ...string) bool {
	return slices.ContainsFunc(ids, func(id string) bool { return r.invalid[id] })
}

// Spelling returns the name that sets the setting. If nothing does, it returns the alias
// if the setting like is set by an alias, and the setting's Name otherwise.
func (r *Reading) Spelling(id, like string) string {
	if name := r.setBy[id]; name != "" {
		return name
	}
	if row := r.byID[id]; row != nil && len(row.Aliases) > 0 && r.IsSet(like) && r.setBy[like] != like {
		return row.Aliases[0]
	}
	return id
}

// Expand replaces each $NAME in a text about a setting. It reports false if the setting or
// one in the text is invalid: the error would then be a guess.
func (r *Reading) Expand(id, text string) (expanded string, ok bool) {
	ok = !r.invalid[id]
	expanded = os.Expand(text, func(other string) string {
		ok = ok && !r.invalid[other]
		return r.Spelling(other, id)
	})
	return expanded, ok
}

// Require adds the error "setting: text" unless the condition holds, or one of the settings
// is invalid already. Each %s in text is replaced by the next argument after $NAME.
func (r *Reading) Require(condition bool, id, text string, args ...any) {
	if condition {
		return
	}
	if expanded, ok := r.Expand(id, text); ok {
		r.errs = append(r.errs, fmt.Errorf("%s: "+expanded, append([]any{r.Spelling(id, id)}, args...)...))
	}
}

// Effective is the value of a setting, and where it comes from.
type Effective struct {
	*Setting
	Value  string // as a user would write it, with secrets masked
	Origin string // "default", "environment, as NAME", or "flag -name"
}

// Effective returns the values of all settings in the order of the table. Invalid values
// are unchanged. String settings show the field, which the program may have derived from
// other settings.
func (r *Reading) Effective() []Effective {
	all := make([]Effective, len(r.rows))
	for i := range r.rows {
		row := &r.rows[i]
		e := Effective{Setting: row, Value: row.Default, Origin: "default"}
		if name := r.setBy[row.id()]; name != "" {
			e.Value, e.Origin = r.written[row.id()], "environment, as "+name
			if strings.HasPrefix(name, "-") {
				e.Origin = "flag " + name
			}
		}
		if row.Value.text != nil && !r.invalid[row.id()] {
			e.Value = *row.Value.text
		}
		switch {
		case row.Secret && e.Value != "":
			e.Value = masked
		case row.URL:
			e.Value = MaskURL(e.Value)
		}
		all[i] = e
	}
	return all
}
