package settings

import (
	"fmt"
	"strings"
)

// Pair is a name with a value: a tag or a header.
type Pair struct {
	Name, Value string
}

// pairs reads <name:value>,<name:value>, with another separator than ":" if sep
// is another. The angle brackets may be left out; a value in brackets may contain
// commas, and any value may contain sep. Errors count items and don't show them,
// for a value may be a secret.
func pairs(text, sep string) ([]Pair, error) {
	var all []Pair
	for rest, more := text, true; more; {
		var item string
		var err error
		item, rest, more, err = cutItem(rest)
		name, value, ok := strings.Cut(item, sep)
		if name = strings.TrimSpace(name); err == nil && (!ok || name == "") {
			err = fmt.Errorf("has no name or no %q", sep)
		}
		if err != nil {
			return nil, fmt.Errorf("item %d %w: use name%svalue,name%svalue", len(all)+1, err, sep, sep)
		}
		all = append(all, Pair{Name: name, Value: strings.TrimSpace(value)})
	}
	return all, nil
}

// cutItem takes the first item off a list.
func cutItem(text string) (item, rest string, more bool, err error) {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "<") {
		item, rest, more = strings.Cut(text, ",")
		return item, rest, more, nil
	}
	item, rest, closed := strings.Cut(text[1:], ">")
	if !closed {
		return "", "", false, fmt.Errorf("begins with %q and has no %q", "<", ">")
	}
	between, rest, more := strings.Cut(rest, ",")
	if strings.TrimSpace(between) != "" {
		return "", "", false, fmt.Errorf("goes on behind its %q", ">")
	}
	return item, rest, more, nil
}
