package replay

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/ratelimit"
)

// Mapping says which request to the rate limit service a line of a log stands for. It is plain
// data, from [ParseMapping], [DefaultMapping] or Go.
//
// A field is a name in the line, where dots lead into objects of JSON, or one of the names that
// mean the same in all formats: time, remote_address, method, path (without the query), target
// (with it), protocol, host, status, bytes, user, user_agent and referer.
type Mapping struct {
	// Domain is the domain of the requests. Required, unless the rules have only one.
	Domain string
	// Time is the field of the time. Default: time.
	Time string
	// TimeLayout is the layout of the time, as package time defines it. Default: RFC 3339, the
	// combined log format's, or a Unix time in seconds, milliseconds, microseconds or nanoseconds.
	TimeLayout string
	// Client is the field that names the client in reports. Default: remote_address.
	Client string
	// Descriptors are those of a request. One whose condition does not hold or of which an entry
	// has no value is left out; a line without any makes no request.
	Descriptors []Descriptor
}

// Descriptor makes one descriptor from a line.
type Descriptor struct {
	Entries []Entry
	// When lists conditions that must all hold.
	When []Condition
	// Hits is the number of hits of the descriptor, as decimal text. Default: 1. A line without
	// a valid number counts 1.
	Hits Value
}

// Entry is one key and where its value comes from.
type Entry struct {
	Key string
	Value
}

// Value is a constant, or comes from a field. The zero Value is none.
type Value struct {
	Constant string
	Field    string
	// At most one of these applies to the field: the part that an expression matches, or its first
	// group if it has one; the longest of some prefixes; the first segments of a path.
	Regexp   *regexp.Regexp
	Prefixes []string
	Segments int
	// Default is the value where the field has none.
	Default string

	// fallback is the field that is used instead where Field has no value.
	fallback string
}

// Condition holds if the field satisfies all that is set.
type Condition struct {
	Field  string
	In     []string // one of these values
	Prefix string
	Regexp *regexp.Regexp
	Not    bool // the opposite
}

// DefaultMapping derives a mapping from the rules of a domain, of one configuration or several: a descriptor for each
// list of keys that leads to a limit, with the field of the same name for each key. The keys of known fields have some
// more usual names: client, or ip, is the field remote_address if the line has no field of its own name. The values of
// a generic_key are constants. It returns the keys that the format has no field for.
func DefaultMapping(domain string, format Format, rules ...*ratelimit.Ruleset) (m *Mapping, without []string) {
	m = &Mapping{Domain: domain}
	seen := make(map[string]bool)
	for _, set := range rules {
		for _, limit := range set.Limits() {
			if limit.Domain != domain {
				continue
			}
			d, missing := defaultDescriptor(limit.Path, format)
			if missing != "" {
				without = append(without, missing)
			} else if id := d.String(); !seen[id] {
				seen[id] = true
				m.Descriptors = append(m.Descriptors, d)
			}
		}
	}
	slices.Sort(without)
	return m, slices.Compact(without)
}

func defaultDescriptor(path []ratelimit.Entry, format Format) (d Descriptor, missing string) {
	for _, e := range path {
		v := defaultValue(e.Key, format)
		switch {
		case strings.Contains(e.Key, "*"):
			return d, e.Key
		case e.Key == "generic_key" && e.Value != "" && !strings.Contains(e.Value, "*"):
			v = Value{Constant: e.Value}
		case format.check(v.Field) != nil:
			return d, e.Key
		}
		d.Entries = append(d.Entries, Entry{e.Key, v})
	}
	return d, ""
}

// defaultValue returns the field that a key of a rule most likely stands for.
func defaultValue(key string, format Format) Value {
	more := map[string][]string{
		"remote_address": {"client", "client_id", "client_address", "remote_addr", "ip", "client_ip", "remote_ip", "source_ip", "address"},
		"path":           {"uri", "url", "request_path", "endpoint", "route"},
		"method":         {"http_method", "request_method", "verb"},
		"host":           {"authority", "hostname", "http_host"},
		"user":           {"username", "user_id", "remote_user"},
		"user_agent":     {"useragent", "http_user_agent"},
	}
	for field, keys := range more {
		switch {
		case !slices.Contains(keys, key):
		case format.names() != nil:
			return Value{Field: field}
		default:
			return Value{Field: key, fallback: field}
		}
	}
	return Value{Field: key}
}

// String shows the descriptor as key=<field>, or key=constant.
func (d *Descriptor) String() string {
	return printable.Join(d.Entries, ",", func(e Entry) string { return e.Key + "=" + e.Value.String() })
}

// String shows the value as <field>, or the constant.
func (v Value) String() string {
	if v.Field == "" {
		return v.Constant
	}
	if v.fallback != "" {
		return "<" + v.Field + " or " + v.fallback + ">"
	}
	return "<" + v.Field + ">"
}

// maxDescriptors bounds the descriptors of a request.
const maxDescriptors = 100

// check returns the first error of a mapping for a format.
func (m *Mapping) check(format Format) error {
	if problem := m.problem(); problem != "" {
		return errors.New(problem)
	}
	for i := range m.Descriptors {
		d := &m.Descriptors[i]
		if problem := d.problem(); problem != "" {
			return fmt.Errorf("descriptors[%d]: %s", i, problem)
		}
		for _, name := range d.fields() {
			if err := format.check(name); err != nil {
				return fmt.Errorf("descriptors[%d]: %w", i, err)
			}
		}
	}
	for _, name := range []string{m.timeField(), m.clientField()} {
		if err := format.check(name); err != nil {
			return err
		}
	}
	return nil
}

// fields returns the names of the fields that the descriptor needs.
func (d *Descriptor) fields() (all []string) {
	for i := range d.Entries {
		all = append(all, d.Entries[i].Field)
	}
	for i := range d.When {
		all = append(all, d.When[i].Field)
	}
	return slices.DeleteFunc(append(all, d.Hits.Field), func(name string) bool { return name == "" })
}

func (m *Mapping) timeField() string { return cmp.Or(m.Time, "time") }

func (m *Mapping) clientField() string { return cmp.Or(m.Client, "remote_address") }

// get returns the value for a line, "" for none.
func (v *Value) get(text string) string {
	if v.Field == "" {
		return v.Constant
	}
	switch {
	case v.Regexp != nil:
		if at := v.Regexp.FindStringSubmatchIndex(text); at == nil {
			text = ""
		} else if len(at) > 2 {
			text = text[max(at[2], 0):max(at[3], 0)]
		} else {
			text = text[at[0]:at[1]]
		}
	case v.Prefixes != nil:
		best := ""
		for _, p := range v.Prefixes {
			if len(p) > len(best) && strings.HasPrefix(text, p) {
				best = p
			}
		}
		text = best
	case v.Segments > 0:
		text = segments(text, v.Segments)
	}
	return cmp.Or(text, v.Default)
}

// segments returns the first n segments of a path.
func segments(path string, n int) string {
	for i := range len(path) {
		if i > 0 && path[i] == '/' {
			if n--; n == 0 {
				return path[:i]
			}
		}
	}
	return path
}

func (c *Condition) holds(text string) bool {
	ok := (c.In == nil || slices.Contains(c.In, text)) && strings.HasPrefix(text, c.Prefix) &&
		(c.Regexp == nil || c.Regexp.MatchString(text))
	return ok != c.Not
}

// hits returns the number of hits, 1 if the text is no number.
func hits(text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 1
	}
	return n
}
