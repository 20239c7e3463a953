package replay

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// batch is the result of reading a block.
type batch struct {
	lines    uint64 // without blank ones
	breaks   uint64 // line breaks
	skipped  uint64 // lines without a descriptor
	bad      uint64
	badLines []BadLine // the first of them, with line numbers that count from 0 in the block
	records  []record

	requests    []ratelimit.Request
	descriptors []ratelimit.Descriptor
	entries     []ratelimit.Entry
	hits        []uint64
}

// record is one line that makes a request.
type record struct {
	when   int64 // Unix nanoseconds
	client string
	// first is the index of the first descriptor.
	first int
}

// plan is a mapping for one format.
type plan struct {
	mapping      *Mapping
	format       Format
	fields       fields
	clean        []func(string) string
	time, client int
	descriptors  []descriptorPlan
}

// descriptorPlan is a Descriptor with the slots of its fields.
type descriptorPlan struct {
	*Descriptor
	entries []int
	others  []int // slots of the fallbacks of entries; that of the field itself for none
	when    []int
	hits    int
	counts  bool // hits are given
}

func newPlan(m *Mapping, format Format) *plan {
	p := &plan{mapping: m, format: format}
	p.time, p.client = p.fields.slot(m.timeField()), p.fields.slot(m.clientField())
	slot := func(name string) int {
		if name == "" {
			return p.time // not used
		}
		return p.fields.slot(name)
	}
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
		d.hits, d.counts = slot(d.Hits.Field), d.Hits.Field != "" || d.Hits.Constant != ""
		p.descriptors = append(p.descriptors, d)
	}
	for _, name := range p.fields.names {
		p.clean = append(p.clean, cleaned(name))
	}
	return p
}

// lineParser reads lines by a plan. Each goroutine has its own.
type lineParser struct {
	*plan
	reader lineReader
	clock  clock
	values []string
}

func (p *plan) newParser() *lineParser {
	return &lineParser{
		plan: p, reader: newLineReader(p.format, &p.fields),
		clock: clock{layout: p.mapping.TimeLayout}, values: make([]string, len(p.fields.names)),
	}
}

// maxBadLines is how many unreadable lines are reported with their reason.
const maxBadLines = 5

// parse reads a block into a batch, whose memory is reused.
func (p *lineParser) parse(text block, b *batch) {
	*b = batch{
		badLines: b.badLines[:0], records: b.records[:0], requests: b.requests[:0],
		descriptors: b.descriptors[:0], entries: b.entries[:0], hits: b.hits[:0],
	}
	if text.overlong {
		b.lines, b.breaks = 1, 1
		b.unreadable(0, fmt.Sprintf("longer than %d bytes", maxLine))
		return
	}
	for rest := text.text; rest != ""; b.breaks++ {
		line, after, _ := strings.Cut(rest, "\n")
		rest = after
		if line = strings.TrimSuffix(line, "\r"); strings.TrimSpace(line) == "" {
			continue
		}
		b.lines++
		if err := p.line(line, b); err != nil {
			b.unreadable(b.breaks, err.Error())
		}
	}
	b.link(p.mapping.Domain)
}

func (b *batch) unreadable(line uint64, reason string) {
	if b.bad++; len(b.badLines) < maxBadLines {
		b.badLines = append(b.badLines, BadLine{line, reason})
	}
}

func (p *lineParser) line(line string, b *batch) error {
	clear(p.values)
	if err := p.reader.read(line, p.values); err != nil {
		return err
	}
	if p.values[p.time] == "" {
		return fmt.Errorf("no field %s", p.mapping.timeField())
	}
	when, err := p.clock.read(p.values[p.time])
	if err != nil {
		return fmt.Errorf("field %s is %.50q: %w", p.mapping.timeField(), p.values[p.time], err)
	}
	for i, clean := range p.clean {
		if clean != nil && p.values[i] != "" {
			p.values[i] = clean(p.values[i])
		}
	}
	first := len(b.descriptors)
	for i := range p.descriptors {
		p.descriptor(&p.descriptors[i], b)
	}
	if len(b.descriptors) == first {
		b.skipped++
		return nil
	}
	b.records = append(b.records, record{when, p.values[p.client], first})
	return nil
}

// descriptor appends a descriptor, unless a condition does not hold or a value is missing.
func (p *lineParser) descriptor(d *descriptorPlan, b *batch) {
	for i, slot := range d.when {
		if !d.When[i].holds(p.values[slot]) {
			return
		}
	}
	start := len(b.entries)
	for i, slot := range d.entries {
		e := &d.Entries[i]
		value := e.get(cmp.Or(p.values[slot], p.values[d.others[i]]))
		if value == "" {
			b.entries = b.entries[:start]
			return
		}
		b.entries = append(b.entries, ratelimit.Entry{Key: e.Key, Value: value})
	}
	n := uint64(1)
	if d.counts {
		n = hits(d.Hits.get(p.values[d.hits]))
	}
	b.hits = append(b.hits, n)
	b.descriptors = append(b.descriptors, ratelimit.Descriptor{Entries: b.entries[start:]})
}

// link sets what refers to slices, which do not move any more.
func (b *batch) link(domain string) {
	at := 0
	for i := range b.descriptors {
		d := &b.descriptors[i]
		end := at + len(d.Entries)
		d.Entries = b.entries[at:end:end]
		d.HitsAddend = &b.hits[i]
		at = end
	}
	for i := range b.records {
		end := len(b.descriptors)
		if i+1 < len(b.records) {
			end = b.records[i+1].first
		}
		b.requests = append(b.requests, ratelimit.Request{Domain: domain, Descriptors: b.descriptors[b.records[i].first:end:end]})
	}
}
