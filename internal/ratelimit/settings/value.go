package settings

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/ashlar-go/ashlar/internal/settings"
)

// pairs reads a list of pairs that pass the check.
func pairs(p *[]Pair, sep string, check func(pair Pair, before []Pair) error) settings.Value {
	return settings.Func(func(text string) error {
		all, err := splitPairs(text, sep)
		for i := 0; i < len(all) && err == nil; i++ {
			if err = check(all[i], all[:i]); err != nil {
				err = fmt.Errorf("item %d %w", i+1, err)
			}
		}
		if err == nil {
			*p = all
		}
		return err
	})
}

// pairMap reads a list of pairs with different names.
func pairMap(p *map[string]string, sep string) settings.Value {
	return settings.Func(func(text string) error {
		var all []Pair
		if err := pairs(&all, sep, checkUnique).Parse(text); err != nil || all == nil {
			return err
		}
		*p = make(map[string]string, len(all))
		for _, pair := range all {
			(*p)[pair.Name] = pair.Value
		}
		return nil
	})
}

// splitPairs reads <name:value>,<name:value>, for the separator ":". The angle brackets are
// optional; a value within brackets may contain commas, and any value may contain sep.
// Errors show positions and no items: a value may be a secret.
func splitPairs(text, sep string) ([]Pair, error) {
	var all []Pair
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	for rest, more := text, true; more; {
		var item string
		var err error
		item, rest, more, err = cutItem(rest)
		name, value, ok := strings.Cut(item, sep)
		if name = strings.TrimSpace(name); err == nil && (!ok || name == "") {
			err = fmt.Errorf("has no name or no %q", sep)
		}
		if err != nil {
			return nil, fmt.Errorf("item %d %w: use name%svalue,name%[3]svalue", len(all)+1, err, sep)
		}
		all = append(all, Pair{Name: name, Value: strings.TrimSpace(value)})
	}
	return all, nil
}

// cutItem splits a list after its first item.
func cutItem(text string) (item, rest string, more bool, err error) {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "<") {
		item, rest, more = strings.Cut(text, ",")
		return item, rest, more, nil
	}
	item, rest, closed := strings.Cut(text[1:], ">")
	if !closed {
		return "", "", false, errors.New(`begins with "<" and has no ">"`)
	}
	between, rest, more := strings.Cut(rest, ",")
	if strings.TrimSpace(between) != "" {
		return "", "", false, errors.New(`continues after its ">"`)
	}
	return item, rest, more, nil
}

func checkUnique(p Pair, before []Pair) error {
	for _, other := range before {
		if other.Name == p.Name {
			return errors.New("has a duplicate name: use each name once")
		}
	}
	return nil
}

func checkTag(p Pair, before []Pair) error {
	switch {
	case p.Value == "":
		return errors.New("has no value: use name:value, or remove it")
	case strings.ContainsFunc(p.Name+p.Value, isBlankOrControl) || strings.ContainsAny(p.Name, "|=#,"):
		return errors.New("has a blank or a character that tags can't have: use letters, digits and . _ - /")
	}
	return checkUnique(p, before)
}

func isBlankOrControl(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) }

// checkTarget accepts what gRPC can connect to: host:port, or one of its schemes.
func checkTarget(text string) error {
	for _, scheme := range []string{"dns:", "unix:", "unix-abstract:", "passthrough:", "xds:", "ipv4:", "ipv6:"} {
		if strings.HasPrefix(text, scheme) {
			return nil
		}
	}
	return settings.CheckHostPort(text)
}

// checkNode accepts host:port, or the path of a socket.
func checkNode(text string) error {
	if strings.HasPrefix(text, "/") {
		return settings.CheckSocket(text)
	}
	return settings.CheckHostPort(text)
}

// checkAllowedHost accepts what package httpx accepts as an allowed host.
func checkAllowedHost(name string) error {
	bare := strings.TrimPrefix(name, "*.")
	if name == "*" || settings.CheckHost(bare) == nil && bare != "" {
		return nil
	}
	return errors.New("is not a host: use a name, *.name for all names below it, an IP address, or * for all hosts")
}

var (
	// checkHeader accepts the header names of RFC 9110, section 5.6.2.
	checkHeader = settings.Match("^[-!#$%&'*+.^_`|~0-9A-Za-z]+$", "is not a header name: use letters, digits and hyphens")
	checkSRV    = settings.Match(`^_[^._\s]+\._[^._\s]+\.[^\s/:,]+$`, "is not an SRV record: use _service._proto.name, such as _memcache._tcp.example.com")
	checkPath   = settings.Match(`^/[^\s\pZ{}?#]*$`, "is not a path: use one that begins with /, such as /metrics")
)
