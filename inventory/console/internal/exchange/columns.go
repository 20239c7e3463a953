package exchange

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/internal/suggest"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// maxColumns is the maximum number of columns that a page shows.
const maxColumns = 200

// column is a column of a file beside the field it goes to.
type column struct {
	Name    string
	To      string // a name of an import; ignored if empty
	Known   bool   // the name is one of an import
	Guessed bool   // To is a guess
	Samples []string
}

// choices returns the names of columns of a resource: its fields, references by natural keys, and parts of these.
func choices(r *records.Resource) (names []string) {
	for _, f := range r.Fields() {
		if f.Name == "" || f.ReadOnly || f.Hidden || f.WriteOnly {
			continue
		}
		if f.Ref != nil && f.Member != "" {
			names = append(names, f.Member)
			for _, part := range f.Ref.Resource().KeyMembers() {
				names = append(names, f.Member+"."+part)
			}
		}
		names = append(names, f.Name)
	}
	return names
}

// isKnown reports whether an import takes a column.
func isKnown(r *records.Resource, names []string, name string) bool {
	if slices.Contains(names, name) || name == "id" || strings.HasPrefix(name, "_") {
		return true
	}
	if f, ok := r.Field(name); ok && f.ReadOnly {
		return true
	}
	for i, part := range strings.Split(name, ".") { // deeper parts of keys
		f, ok := r.ByMember(part)
		if !ok {
			return i > 0 && slices.Contains(append(r.KeyMembers(), "id"), part) && !strings.HasSuffix(name, part+".")
		}
		r = f.Ref.Resource()
	}
	return true
}

// synonyms are names that other programs give to fields.
var synonyms = map[string]string{
	"name": "hostname", "device": "hostname", "host": "hostname", "ip_address": "ip", "address": "ip", "primary_ip": "ip", "manufacturer": "vendor", "site": "location",
	"serial": "serial_number", "type": "model", "device_type": "model", "platform": "os", "comments": "notes", "description": "notes",
}

// guess returns the column that an unknown one probably means, or "".
func guess(names []string, name string) string {
	plain := strings.ToLower(strings.Join(strings.FieldsFunc(name, func(c rune) bool { return strings.ContainsRune(" -_/()", c) }), "_"))
	if slices.Contains(names, plain) {
		return plain
	}
	if other := synonyms[plain]; slices.Contains(names, other) {
		return other
	}
	return suggest.Closest(plain, names, 2)
}

// readColumns returns the header of a CSV with values of its first rows, nil if it has none. rest is where the
// rows begin.
func readColumns(r *records.Resource, text []byte) (all []column, rest int) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	reader := csv.NewReader(bytes.NewReader(text))
	reader.FieldsPerRecord, reader.LazyQuotes = -1, true
	header, err := reader.Read()
	if err != nil || len(header) == 0 {
		return nil, 0
	}
	rest = int(reader.InputOffset())
	names, taken := choices(r), map[string]bool{}
	for _, name := range header[:min(len(header), maxColumns)] {
		c := column{Name: name, Known: isKnown(r, names, name)}
		if c.Known {
			c.To = name
			taken[name] = true
		}
		all = append(all, c)
	}
	for i := range all {
		if c := &all[i]; !c.Known {
			if to := guess(names, c.Name); to != "" && !taken[to] {
				c.To, c.Guessed = to, true
				taken[to] = true
			}
		}
	}
	for range 3 {
		cells, err := reader.Read()
		if err != nil {
			break
		}
		for i, cell := range cells[:min(len(cells), len(all))] {
			if cell != "" {
				all[i].Samples = append(all[i].Samples, shortened(cell))
			}
		}
	}
	return all, rest
}

// shortened returns the beginning of a value.
func shortened(s string) string {
	if runes := []rune(s); len(runes) > 40 {
		return string(runes[:40]) + "…"
	}
	return s
}

// renamed returns a CSV with other names in its header. Ignored columns get names that imports ignore.
func renamed(text []byte, columns []column, rest int) ([]byte, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	var out bytes.Buffer
	header := make([]string, len(columns))
	for i, c := range columns {
		if header[i] = c.To; c.To == "" {
			header[i] = "_" + c.Name
		}
	}
	w := csv.NewWriter(&out)
	if err := w.Write(header); err != nil {
		return nil, err
	}
	w.Flush()
	out.Write(text[rest:])
	return out.Bytes(), w.Error()
}
