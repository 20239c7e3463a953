package settings

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Mogrifier rewrites the names of statistics for the agent. In Metric and Tags,
// "$1" stands for what the first group of Pattern has matched, "$0" for all of it.
type Mogrifier struct {
	Name    string         // as AGENTSTATS_MOGRIFIERS has it
	Pattern *regexp.Regexp // the statistics that it rewrites
	Metric  string         // what they are called
	Tags    []string       // their tags, name:value or name
}

// mogrifierPrefixes begin the names of the variables of single mogrifiers.
func mogrifierPrefixes() []string {
	return []string{"AGENTSTATS_MOGRIFIER_", "DOG_STATSD_MOGRIFIER_"}
}

const mogrifierList = "AGENTSTATS_MOGRIFIERS"

func (r *reading) readMogrifiers() {
	seen := map[string]bool{}
	for _, name := range r.settings.AgentMogrifiers {
		switch {
		case name == "" || strings.ContainsFunc(name, notForNames):
			r.refuse(true, mogrifierList, "has the name %s: use letters, digits and underscores, and commas between names", quote(name))
		case seen[name]:
			r.refuse(true, mogrifierList, "has %s twice: use each name once", name)
		default:
			r.readMogrifier(name)
		}
		seen[name] = true
	}
}

func (r *reading) readMogrifier(name string) {
	m := Mogrifier{Name: name}
	r.mogrifierPart(name, "PATTERN", func(text string) (err error) {
		m.Pattern, err = compile(text)
		return err
	})
	r.mogrifierPart(name, "NAME", func(text string) error {
		m.Metric = text
		return m.checkGroups(text)
	})
	r.mogrifierPart(name, "TAGS", func(text string) error {
		if text != "" {
			m.Tags = list(text)
		}
		if err := checkTags(m.Tags); err != nil {
			return err
		}
		return m.checkGroups(text)
	})
	r.settings.Mogrifiers = append(r.settings.Mogrifiers, m)
}

// mogrifierPart reads one of a mogrifier's variables.
func (r *reading) mogrifierPart(name, part string, read func(string) error) {
	variable, text, err := r.lookup(mogrifierVariables(name, part), false)
	switch {
	case err != nil:
		r.errs = append(r.errs, err)
	case variable == "" && part != "TAGS":
		r.refuse(true, mogrifierList, "has %s, and %s is not set: set it, or take the name off the list", name, r.mogrifierVariable(name, part))
	default:
		if err := read(text); err != nil {
			r.errs = append(r.errs, fmt.Errorf("%s: %w", variable, err))
		}
	}
}

// mogrifierVariables are the names that a part of a mogrifier may have. The
// reference service takes upper-case names only, however the list spells them.
func mogrifierVariables(name, part string) []string {
	var all []string
	for _, prefix := range mogrifierPrefixes() {
		all = append(all, prefix+strings.ToUpper(name)+"_"+part)
		if strings.ToUpper(name) != name {
			all = append(all, prefix+name+"_"+part)
		}
	}
	return all
}

// mogrifierVariable is the one of them to suggest.
func (r *reading) mogrifierVariable(name, part string) string {
	prefix := mogrifierPrefixes()[0]
	if strings.Contains(r.spelled[mogrifierList], "DOG_STATSD") {
		prefix = mogrifierPrefixes()[1]
	}
	return prefix + strings.ToUpper(name) + "_" + part
}

// notForNames is for what hardly gets into the name of a variable.
func notForNames(c rune) bool {
	return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("_-.", c)
}

func compile(text string) (*regexp.Regexp, error) {
	p, err := regexp.Compile(text)
	if bad, ok := errors.AsType[*syntax.Error](err); ok {
		return nil, fmt.Errorf("is no regular expression, %s at %s: use the syntax of RE2", bad.Code, quote(bad.Expr))
	}
	return p, err
}

// checkGroups refuses "$3" for a pattern with two groups. Without a pattern there
// is an error already.
func (m *Mogrifier) checkGroups(text string) error {
	if m.Pattern == nil {
		return nil
	}
	groups := m.Pattern.NumSubexp()
	for _, group := range regexp.MustCompile(`\$\d+`).FindAllString(text, -1) {
		if n, err := strconv.Atoi(group[1:]); err != nil || n > groups {
			return fmt.Errorf("has %s, and groups of the pattern: %d: use $0 for all that the pattern matches, and $1 and so on for its groups", quote(group), groups)
		}
	}
	return nil
}

func checkTags(tags []string) error {
	wrong := slices.IndexFunc(tags, func(tag string) bool {
		name, value, ok := strings.Cut(tag, ":")
		return name == "" || ok && value == "" || strings.ContainsFunc(tag, isBlankOrControl)
	})
	if wrong < 0 {
		return nil
	}
	return fmt.Errorf("has the tag %s: use name:value,name:value without blanks", quote(tags[wrong]))
}
