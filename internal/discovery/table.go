package discovery

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// maxHeading is the maximum length in bytes of a line of titles.
const maxHeading = 500

// anyTitle matches a title, the longest first.
var anyTitle = strings.ReplaceAll(strings.Join(slices.SortedFunc(maps.Keys(names), func(a, b string) int { return len(b) - len(a) }), "|"), " ", "[ -]")

var (
	title   = regexp.MustCompile("(?i)" + anyTitle)
	heading = regexp.MustCompile(`(?i)^(?:\s*(?:` + anyTitle + `)){3,}\s*$`)
	ruler   = regexp.MustCompile(`^[-=+ ]*-[-=+ ]*$`)
	group   = regexp.MustCompile(`-+`)
	ended   = regexp.MustCompile(`(?i)^\s*total .*: *\d+$|^\S+[#>](?: .*)?$`) // the number of rows, or a prompt
	blanks  = strings.NewReplacer("|", " ", "\t", " ")
	// held is a row of IOS, NX-OS and XR, whose values shift: the name, which may be on the line before, the
	// interface, and the time for which it is held.
	held = regexp.MustCompile(`^\s*(|.*?\s)((?:[A-Za-z][A-Za-z-]*[A-Za-z] ?)?\d[\w/.:]*) +\d+(?: +(.*))?$`)
	// capable are the capabilities before a port.
	capable = regexp.MustCompile(`^[BCOPRSTW](?:,?[BCOPRSTW])* +`)
	// beforePort is what is before the port in a row with a platform. The port is a word and a number, or one word.
	beforePort = regexp.MustCompile(`^.*? ((?:[A-Za-z][A-Za-z-]+ )?\d\S*|\S+)$`)
)

// column is a column of a table.
type column struct {
	field field
	start int
}

func (p *text) column(f field) int {
	return slices.IndexFunc(p.columns, func(c column) bool { return c.field == f })
}

// readTable reads a line of a table. It returns false for one outside of it.
func (p *text) readTable(line string) (in bool, err error) {
	line = blanks.Replace(line)
	if len(line) < maxHeading && heading.MatchString(line) {
		return true, p.readTitles(line)
	}
	key, _, _ := strings.Cut(line, ":")
	switch {
	case p.columns == nil:
		return false, nil
	case ended.MatchString(line), starts(normal(key)): // NX-OS has titles before details
		p.columns = nil
		return false, nil
	case strings.TrimSpace(line) == "":
		return true, nil
	case ruler.MatchString(line):
		if groups := group.FindAllStringIndex(line, -1); len(groups) == len(p.columns) {
			for i, g := range groups {
				p.columns[i].start = g[0]
			}
		}
		return true, nil
	case p.column(hold) >= 0:
		return true, p.readHeld(line)
	}
	return true, p.readRow(line)
}

func (p *text) readTitles(line string) error {
	p.columns, p.titled = nil, true
	for _, at := range title.FindAllStringIndex(line, -1) {
		f := names[normal(line[at[0]:at[1]])]
		if before := p.column(name); f == name && before >= 0 { // S300: the device ID is the chassis
			p.columns[before].field = chassis
		}
		p.columns = append(p.columns, column{f, at[0]})
	}
	if p.column(local) < 0 {
		return fmt.Errorf("a table of neighbours %w", errNoInterface)
	}
	return nil
}

// readHeld reads a row of a table with hold times, or the name of the next one.
func (p *text) readHeld(line string) error {
	if at := p.columns[p.column(local)].start; at > 0 && at < len(line) && !strings.Contains(line[:at], "  ") && line[at-1] != ' ' {
		if m := held.FindStringSubmatch(line[at:]); m != nil && m[1] == "" && strings.Contains(line[at:], "  ") {
			line = line[:at] + "... " + line[at:] // the name fills its column
		}
	}
	m := held.FindStringSubmatch(line)
	switch {
	case m == nil && p.pending == "":
		p.pending = strings.TrimSpace(line)
		return nil
	case m == nil || m[1] != "" && p.pending != "":
		return errColumns
	}
	n := Neighbor{Interface: m[2], Name: p.pending + strings.TrimSpace(m[1]), Port: capable.ReplaceAllString(m[3], "")}
	if p.column(platform) >= 0 {
		n.Port = beforePort.ReplaceAllString(m[3], "$1")
	}
	p.pending = ""
	p.begin(n)
	return nil
}

// readRow reads a row of columns: as many words as columns, or values below the titles. One without a local
// interface continues the row before it.
func (p *text) readRow(line string) error {
	n, words := Neighbor{}, strings.Fields(line)
	for i, c := range p.columns {
		end := len(line)
		if i+1 < len(p.columns) {
			end = min(end, p.columns[i+1].start)
		}
		value := line[min(c.start, end):end]
		switch {
		case len(words) == len(p.columns):
			value = words[i]
		case i > 0 && c.start < len(line) && line[c.start-1] != ' ':
			return errColumns
		}
		if c.field <= address {
			*n.at(c.field) = present(value)
		}
	}
	switch {
	case n.Interface != "":
		p.begin(n)
	case p.current == nil:
		return errColumns
	default:
		for f := name; f <= address; f++ {
			*p.current.at(f) += *n.at(f)
		}
	}
	return nil
}
