package hosts

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// section is the header of a section: [group], [group:children] or [group:vars].
var section = regexp.MustCompile(`^\[([^\[\]:\s]+)(?::([a-z]+))?\]\s*(?:[#;].*)?$`)

// readINI reads an inventory of Ansible in INI. Messages do not repeat lines, which may have secrets.
func (v *Inventory) readINI(in *input) error {
	g, err := v.group(everything, in.at(1)) // of hosts above all sections
	if err != nil {
		return err
	}
	part, line := "", 0
	for text := range strings.Lines(string(in.text)) {
		line++
		text = strings.TrimSpace(text)
		at := in.at(line)
		switch {
		case text == "" || text[0] == '#' || text[0] == ';':
		case text[0] == '[':
			m := section.FindStringSubmatch(text)
			if m == nil || m[2] != "" && m[2] != "children" && m[2] != "vars" {
				return at.mustBe("", "the header of a section: [group], [group:children] or [group:vars]", nil)
			}
			part = m[2]
			g, err = v.child(m[1], nil, at)
		case part == "children":
			err = v.iniChild(text, g, at)
		case part == "vars":
			err = v.iniVariable(g.vars, text, at)
		default:
			err = v.iniHost(text, g, at)
		}
		if err != nil {
			return err
		}
	}
	if line == 0 {
		return in.at(1).fail("is empty")
	}
	return nil
}

func (v *Inventory) iniChild(text string, g *group, at position) error {
	words, err := split(text)
	if err != nil || len(words) != 1 {
		return at.mustBe("", "the name of one group, as all lines of a section children", nil)
	}
	_, err = v.child(words[0], g, at)
	return err
}

// iniVariable reads a line name=value.
func (v *Inventory) iniVariable(into vars, text string, at position) error {
	name, value, ok := strings.Cut(text, "=")
	if name = strings.TrimSpace(name); !ok || name == "" {
		return at.mustBe("", "a variable name=value, as all lines of a section vars", nil)
	}
	v.readText(into, name, unquote(strings.TrimSpace(value)))
	return nil
}

// unquote removes the quotes around a value.
func unquote(value string) string {
	if n := len(value); n >= 2 && value[0] == value[n-1] && (value[0] == '"' || value[0] == '\'') {
		return value[1 : n-1]
	}
	return value
}

// iniHost reads a line with a host, or a range of them, and variables.
func (v *Inventory) iniHost(text string, g *group, at position) error {
	words, err := split(text)
	if err != nil {
		return at.fail("%s", err)
	}
	if len(words) == 0 {
		return nil
	}
	own := vars{}
	for i, word := range words[1:] {
		name, value, ok := strings.Cut(word, "=")
		if !ok || name == "" {
			return at.mustBe(fmt.Sprintf("the word %d after the host", i+1), "a variable name=value, without spaces around the equals sign", nil)
		}
		v.readText(own, name, value)
	}
	if name, _, ok := strings.Cut(words[0], "="); ok {
		return at.fail("begins with a variable: put the name of the host first, or %s into a section vars", shown(name))
	}
	return v.addHosts(port.ReplaceAllString(words[0], "$1"), g, own, at)
}

// port matches the name of a host with a port. An IPv6 address has more colons.
var port = regexp.MustCompile(`^([^:]*(?:\[[^\]]*\][^:\[]*)*):[0-9]+$`)

// split returns the words of a line, of which parts may be in quotes, up to a comment.
func split(text string) (words []string, err error) {
	var word strings.Builder
	begun, quote, escaped := false, rune(0), false
	for _, c := range text {
		switch {
		case escaped:
			word.WriteRune(c)
			escaped = false
		case c == '\\' && quote != '\'':
			begun, escaped = true, true
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(c)
		case c == '"' || c == '\'':
			begun, quote = true, c
		case c == '#' && !begun:
			return words, nil
		case unicode.IsSpace(c):
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		default:
			begun = true
			word.WriteRune(c)
		}
	}
	if quote != 0 || escaped {
		return nil, errors.New("has a quote that does not end, or ends with a backslash: close it")
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}

// maxPattern is the maximum length of the name of a host, or of several.
const maxPattern = 1000

// expand returns the names of a pattern such as web[01:50], at most max.
func expand(pattern string, most int) ([]string, error) {
	if len(pattern) > maxPattern {
		return nil, fmt.Errorf("is longer than %d bytes", maxPattern)
	}
	names := []string{""}
	for pattern != "" {
		before, rest, ok := strings.Cut(pattern, "[")
		var values []string
		if ok {
			inner, after, closed := strings.Cut(rest, "]")
			if !closed {
				return nil, errors.New("has a bracket that does not end: a range is [01:50], [a:f] or [0:100:10]")
			}
			var err error
			if values, err = valuesOf(inner, most/len(names)); err != nil {
				return nil, err
			}
			pattern = after
		} else {
			values, pattern = []string{""}, ""
		}
		next := make([]string, 0, len(names)*len(values))
		for _, name := range names {
			for _, value := range values {
				next = append(next, name+before+value)
			}
		}
		names = next
	}
	return names, nil
}

// aRange is a range of numbers or letters, with a step.
var aRange = regexp.MustCompile(`^(?:([0-9]{0,9}):([0-9]{1,9})|([a-z]):([a-z])|([A-Z]):([A-Z]))(?::([0-9]{1,9}))?$`)

// valuesOf returns the values of a range without its brackets, at most some.
func valuesOf(inner string, most int) (values []string, err error) {
	m := aRange.FindStringSubmatch(inner)
	if m == nil {
		return nil, fmt.Errorf("has the invalid range [%s]: use [01:50], [a:f] or [0:100:10]", shown(inner))
	}
	first, last, letters := m[1], m[2], false
	for _, i := range []int{3, 5} {
		if m[i] != "" {
			first, last, letters = m[i], m[i+1], true
		}
	}
	from, _ := strconv.Atoi(first) // digits or letters; empty is 0
	to, _ := strconv.Atoi(last)
	step, _ := strconv.Atoi(cmp.Or(m[7], "1"))
	if letters {
		from, to = int(first[0]), int(last[0])
	}
	width := 0
	if len(first) > 1 && first[0] == '0' {
		width = len(first)
	}
	switch {
	case from > to || step < 1:
		return nil, fmt.Errorf("has the invalid range [%s]: use a first value up to the last one, and a step of at least 1", shown(inner))
	case (to-from)/step >= most:
		return nil, fmt.Errorf("has the range [%s], with which it stands for more than %d hosts: use smaller ones", shown(inner), maxHosts)
	}
	for at := from; at <= to; at += step {
		if letters {
			values = append(values, string(rune(at)))
		} else {
			values = append(values, fmt.Sprintf("%0*d", width, at))
		}
	}
	return values, nil
}
