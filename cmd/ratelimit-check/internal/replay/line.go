package replay

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// maxLine is the length of the longest line that is read, in bytes.
const maxLine = 1 << 20

var errOverlong = fmt.Errorf("longer than %d bytes", maxLine)

// nextLine returns the next line of a log, which is valid until the next call, errOverlong for one that is skipped, or io.EOF after the last.
func nextLine(in *bufio.Reader) ([]byte, error) {
	text, err := in.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = in.ReadSlice('\n')
		}
		if err == nil || ended(err) {
			err = errOverlong
		}
	case ended(err) && len(text) > 0:
		err = nil
	}
	return bytes.TrimRight(text, "\r\n"), err
}

// ended reports whether an error is the end of the log.
func ended(err error) bool { return errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) }

// parser makes requests from lines, by a mapping and a format.
type parser struct {
	mapping      *Mapping
	format       Format
	text         bool // the format is one of text
	fields       fields
	time, client int
	descriptors  []descriptorPlan
	reader       lineReader
	values       []string

	request ratelimit.Request // of the last line; its memory is reused
	entries []ratelimit.Entry
}

// descriptorPlan is a Descriptor with the slots of its fields.
type descriptorPlan struct {
	*Descriptor
	entries []int
	others  []int // slots of the fallbacks of entries; that of the field itself for none
	when    []int
	hits    int
	made    bool // of a line
}

func newParser(m *Mapping, format Format) *parser {
	p := &parser{mapping: m, format: format, text: format.names() != nil, request: ratelimit.Request{Domain: m.Domain}}
	p.time, p.client = p.fields.slot(m.timeField()), p.fields.slot(m.clientField())
	slot := func(name string) int { return p.fields.slot(cmp.Or(name, m.timeField())) } // any one if it is not used
	for i := range m.Descriptors {
		d := descriptorPlan{Descriptor: &m.Descriptors[i]}
		for j := range d.Entries {
			v := &d.Entries[j].Value
			d.entries = append(d.entries, slot(v.Field))
			d.others = append(d.others, slot(cmp.Or(v.fallback, v.Field)))
		}
		for j := range d.When {
			d.when = append(d.when, slot(d.When[j].Field))
		}
		d.hits = slot(d.Hits.Field)
		p.descriptors = append(p.descriptors, d)
	}
	p.reader, p.values = newLineReader(format, p.fields), make([]string, len(p.fields))
	return p
}

// parse sets the request of a line and returns its time, in Unix nanoseconds, and the client. A line without a
// descriptor makes a request without any.
func (p *parser) parse(line []byte) (when int64, client string, err error) {
	clear(p.values)
	p.request.Descriptors, p.entries = p.request.Descriptors[:0], p.entries[:0]
	if err := p.reader.read(line, p.values); err != nil {
		return 0, "", err
	}
	if p.values[p.time] == "" {
		return 0, "", fmt.Errorf("no field %s", p.mapping.timeField())
	}
	if when, err = readTime(p.mapping.TimeLayout, p.values[p.time]); err != nil {
		return 0, "", fmt.Errorf("field %s is %.50q: %w", p.mapping.timeField(), p.values[p.time], err)
	}
	for i, name := range p.fields {
		p.values[i] = p.clean(name, p.values[i])
	}
	for i := range p.descriptors {
		if d := &p.descriptors[i]; p.descriptor(d) {
			d.made = true
		}
	}
	return when, p.values[p.client], nil
}

// clean returns the value of a field that is known without what else it came with.
func (p *parser) clean(name, value string) string {
	switch name {
	case "remote_address":
		return cleanAddress(value)
	case "host":
		if p.format == VHostCombined { // with the port of the server
			return cleanAddress(value)
		}
	case "method":
		return p.requestPart(value, 0)
	case "target":
		return p.requestPart(value, 1)
	case "path":
		return cleanPath(p.requestPart(value, 1))
	case "protocol":
		return p.requestPart(value, 2)
	}
	return value
}

// requestPart returns the method, target or protocol, for 0 to 2, of a request such as "GET /a HTTP/1.1". In lines of
// JSON a text of one word is the part itself.
func (p *parser) requestPart(text string, part int) string {
	words := strings.SplitN(text, " ", 3)
	if len(words) == 1 && !p.text {
		return text
	}
	if part >= len(words) || words[part] == "-" {
		return ""
	}
	return words[part]
}

// descriptor appends a descriptor, unless a condition does not hold or a value is missing.
func (p *parser) descriptor(d *descriptorPlan) (made bool) {
	for i, slot := range d.when {
		if !d.When[i].holds(p.values[slot]) {
			return false
		}
	}
	start := len(p.entries)
	for i, slot := range d.entries {
		e := &d.Entries[i]
		value := e.get(cmp.Or(p.values[slot], p.values[d.others[i]]))
		if value == "" {
			p.entries = p.entries[:start]
			return false
		}
		p.entries = append(p.entries, ratelimit.Entry{Key: e.Key, Value: value})
	}
	next := ratelimit.Descriptor{Entries: p.entries[start:len(p.entries):len(p.entries)]}
	if d.Hits.Field != "" || d.Hits.Constant != "" {
		next.HitsAddend = new(hits(d.Hits.get(p.values[d.hits])))
	}
	p.request.Descriptors = append(p.request.Descriptors, next)
	return true
}
