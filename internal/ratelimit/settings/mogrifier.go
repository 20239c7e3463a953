package settings

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/internal/settings"
)

const mogrifierList = "AGENTSTATS_MOGRIFIERS"

var (
	mogrifierPrefixes = []string{"AGENTSTATS_MOGRIFIER_", "DOG_STATSD_MOGRIFIER_"}
	mogrifierName     = regexp.MustCompile(`^[\pL\pN_.-]+$`)
	mogrifierVariable = regexp.MustCompile(`^(AGENTSTATS|DOG_STATSD)_MOGRIFIER_.+_(PATTERN|NAME|TAGS)$`)
	groupReference    = regexp.MustCompile(`\$\d+`)
)

func (r *reading) readMogrifiers() {
	for i, name := range r.AgentMogrifiers {
		switch {
		case !mogrifierName.MatchString(name):
			r.Require(false, mogrifierList, "has the name %s: use letters, digits and underscores, and commas between names", settings.Quote(name))
		case slices.Contains(r.AgentMogrifiers[:i], name):
			r.Require(false, mogrifierList, "has %s twice: use each name once", name)
		default:
			r.readMogrifier(name)
		}
	}
}

func (r *reading) readMogrifier(name string) {
	m := Mogrifier{Name: name}
	r.mogrifierPart(name, "PATTERN", func(text string) (err error) {
		m.Pattern, err = regexp.Compile(text)
		if invalid, ok := errors.AsType[*syntax.Error](err); ok {
			return fmt.Errorf("is not a regular expression, %s at %s: use the syntax of RE2", invalid.Code, settings.Quote(invalid.Expr))
		}
		return err
	})
	r.mogrifierPart(name, "NAME", func(text string) error {
		m.Metric = text
		return m.checkGroups(text)
	})
	r.mogrifierPart(name, "TAGS", func(text string) error {
		if text == "" {
			return nil
		}
		m.Tags = settings.Split(text)
		for _, tag := range m.Tags {
			key, value, ok := strings.Cut(tag, ":")
			if key == "" || ok && value == "" || strings.ContainsFunc(tag, isBlankOrControl) {
				return fmt.Errorf("has the tag %s: use name:value,name:value without blanks", settings.Quote(tag))
			}
		}
		return m.checkGroups(text)
	})
	r.Mogrifiers = append(r.Mogrifiers, m)
}

// mogrifierPart reads one of a mogrifier's variables. Only TAGS is optional.
func (r *reading) mogrifierPart(name, part string, read func(string) error) {
	names := mogrifierNames(name, part)
	variable, text, err := r.Lookup(names, false)
	switch {
	case err != nil:
		r.Fail("", err)
	case variable == "" && part != "TAGS":
		if strings.Contains(r.SetBy(mogrifierList), "DOG_STATSD") {
			slices.Reverse(names)
		}
		suggested := names[slices.IndexFunc(names, func(n string) bool { return strings.HasSuffix(n, strings.ToUpper(name)+"_"+part) })]
		r.Require(false, mogrifierList, "has %s, but %s is not set: set it, or remove the name from the list", name, suggested)
	default:
		if err := read(text); err != nil {
			r.Fail("", fmt.Errorf("%s: %w", variable, err))
		}
	}
}

// mogrifierNames returns the variables that may hold a part of a mogrifier. The reference
// service accepts upper-case names only, whatever the case in the list.
func mogrifierNames(name, part string) []string {
	var all []string
	for _, prefix := range mogrifierPrefixes {
		all = append(all, prefix+strings.ToUpper(name)+"_"+part)
		if strings.ToUpper(name) != name {
			all = append(all, prefix+name+"_"+part)
		}
	}
	return all
}

// checkGroups refuses "$3" for a pattern with two groups. Without a pattern there is an
// error already.
func (m *Mogrifier) checkGroups(text string) error {
	if m.Pattern == nil {
		return nil
	}
	groups := m.Pattern.NumSubexp()
	for _, group := range groupReference.FindAllString(text, -1) {
		if n, err := strconv.Atoi(group[1:]); err != nil || n > groups {
			return fmt.Errorf("refers to group %s, but the pattern has %d: use $0 for the whole match, $1 for the first group", settings.Quote(group), groups)
		}
	}
	return nil
}

// unusedMogrifiers warns of variables of mogrifiers that are not listed.
func (r *reading) unusedMogrifiers() []Warning {
	var all []Warning
	for _, variable := range slices.Sorted(maps.Keys(r.environ)) {
		listed := slices.ContainsFunc(r.AgentMogrifiers, func(name string) bool {
			return slices.ContainsFunc([]string{"PATTERN", "NAME", "TAGS"}, func(part string) bool {
				return slices.Contains(mogrifierNames(name, part), variable)
			})
		})
		if mogrifierVariable.MatchString(variable) && !listed {
			all = append(all, Warning{Variable: variable, Text: "has no effect: the mogrifier is not in the list " + r.Spelling(mogrifierList, "")})
		}
	}
	return all
}
