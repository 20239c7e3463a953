package settings

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// Parse reads the settings from environment variables. The error names every
// variable that makes no sense by itself or beside another, by the name that the
// environment has for it, one to a line, and says what would be right. Values of
// secrets are not in it.
func Parse(environ map[string]string) (*Settings, error) {
	r := read(environ)
	if len(r.errs) > 0 {
		return nil, errors.Join(r.errs...)
	}
	return r.settings, nil
}

// Default is Parse of an empty environment.
func Default() *Settings {
	s, err := Parse(nil)
	if err != nil {
		panic(err) // the table of this package contradicts itself
	}
	return s
}

// reading is an environment as far as it could be read.
type reading struct {
	environ  map[string]string
	rows     []row
	byName   map[string]*row   // by the specification's names
	spelled  map[string]string // the name that the environment has, by the specification's
	bad      map[string]bool   // rows with an error, by the specification's names
	settings *Settings
	errs     []error
}

func read(environ map[string]string) *reading {
	r := &reading{
		environ: environ, rows: rows(), byName: map[string]*row{},
		spelled: map[string]string{}, bad: map[string]bool{}, settings: &Settings{},
	}
	for i := range r.rows {
		r.byName[r.rows[i].Name] = &r.rows[i]
		r.take(&r.rows[i])
	}
	r.readMogrifiers()
	r.chooseBackend()
	r.chooseSockets()
	r.checkCombinations()
	return r
}

// take reads the variable of one row, or its default.
func (r *reading) take(row *row) {
	if row.Default != "" {
		r.blame(row, row.Name, row.set(r.settings, row.Default))
	}
	name, text, err := r.lookup(row.names(), row.tag.Get("empty") == "text")
	if err != nil {
		r.bad[row.Name] = true
		r.errs = append(r.errs, err)
	}
	if name == "" {
		return
	}
	r.spelled[row.Name] = name
	if err == nil {
		r.blame(row, name, row.set(r.settings, text))
	}
}

func (r *reading) blame(row *row, name string, err error) {
	if err == nil {
		return
	}
	r.bad[row.Name] = true
	r.errs = append(r.errs, fmt.Errorf("%s: %w%s", name, err, serviceLink(name, r.environ[name])))
}

// lookup finds what the environment has under one of the names: the first that is
// not empty. An empty one counts only if empty is a value.
func (r *reading) lookup(names []string, empty bool) (name, text string, err error) {
	for _, n := range names {
		value, ok := r.environ[n]
		switch {
		case !ok || value == "" && !(empty && name == ""):
		case name == "" || text == "":
			name, text = n, value
		case value != text:
			return name, text, fmt.Errorf("%s, %s: are two names of one setting, with different values: unset one of them%s",
				name, n, serviceLink(name, text)+serviceLink(n, value))
		}
	}
	return name, text, nil
}

// serviceLink explains values that nobody has set.
func serviceLink(name, value string) string {
	service, ok := strings.CutSuffix(name, "_PORT")
	if !ok || !isServiceLink(value) {
		return ""
	}
	service = strings.ReplaceAll(strings.ToLower(service), "_", "-")
	return fmt.Sprintf("; Kubernetes sets %s to this for a service named %s: turn that off with enableServiceLinks: false in the pod, or set it yourself", name, service)
}

func isServiceLink(value string) bool {
	network, _, ok := strings.Cut(value, "://")
	return ok && (network == "tcp" || network == "udp" || network == "sctp")
}

// isSet is whether the environment has the setting, by any of its names.
func (r *reading) isSet(name string) bool { return r.spelled[name] != "" }

// firstSet is the first of the settings that the environment has, or the first.
func (r *reading) firstSet(names ...string) string {
	for _, name := range names {
		if r.isSet(name) {
			return name
		}
	}
	return names[0]
}

func (r *reading) anyBad(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return r.bad[name] })
}

// spelling is the setting's name as the environment has it. One that is not set is
// named in the style of the one that is.
func (r *reading) spelling(name, like string) string {
	if s := r.spelled[name]; s != "" {
		return s
	}
	if row := r.byName[name]; row != nil && len(row.Aliases) > 0 && r.isSet(like) && r.spelled[like] != like {
		return row.Aliases[0]
	}
	return name
}

// tell is text about a setting, in which $NAME is another one as the environment
// spells it. It is not ok if one of them has an error already: what is said of a
// value that is not there would be guessed.
func (r *reading) tell(name, text string, args ...any) (told string, ok bool) {
	ok = !r.bad[name]
	told = os.Expand(text, func(other string) string {
		ok = ok && !r.bad[other]
		return r.spelling(other, name)
	})
	if len(args) > 0 {
		told = fmt.Sprintf(told, args...)
	}
	return told, ok
}

// refuse adds an error about a setting if something is wrong with it and with the
// settings in text.
func (r *reading) refuse(wrong bool, name, text string, args ...any) {
	if told, ok := r.tell(name, text, args...); wrong && ok {
		r.errs = append(r.errs, fmt.Errorf("%s: %s", r.spelling(name, name), told))
	}
}
