package replay

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// Options configure a replay. The zero value, like nil, is ready for use.
type Options struct {
	// Format is the format of the log. Default, when empty: detected from the first line.
	Format Format
	// Mapping makes requests from lines. Default: DefaultMapping of the rules.
	Mapping *Mapping
	// Against, if not nil, is another configuration to compare with: what is in use, say.
	Against *ratelimit.Ruleset
	// MaxCounters bounds the counters that are kept at a time, of about 50 bytes each, for each
	// configuration. Default, when 0 or less: 2,000,000.
	MaxCounters int
	// MaxKeys bounds the keys and the clients with figures of their own, of about 200 bytes each,
	// for each configuration. Default, when 0 or less: 100,000.
	MaxKeys int
	// Top is how many keys and clients of each rule are reported. Default, when 0 or less: 10.
	Top int
	// Progress, if not nil, is called now and then with the number of lines so far.
	Progress func(lines uint64)
}

func (o *Options) withDefaults() Options {
	var r Options
	if o != nil {
		r = *o
	}
	r.MaxCounters = cmp.Or(max(r.MaxCounters, 0), 2_000_000)
	r.MaxKeys = max(cmp.Or(max(r.MaxKeys, 0), 100_000), 2)
	r.Top = cmp.Or(max(r.Top, 0), 10)
	return r
}

// Errors of a log or mapping, for errors.Is.
var (
	// ErrEmpty is a log without a line.
	ErrEmpty = errors.New("the log is empty")
	// ErrUnreadable is a log of which no line could be read.
	ErrUnreadable = errors.New("no line of the log could be read")
)

// Run replays a log, which may be compressed with gzip, against rules. It reads the log once, and
// its memory does not depend on the log's length.
//
// It fails if the log can't be read or the mapping does not fit it; single lines that can't be read
// are counted in the report.
func Run(ctx context.Context, log io.Reader, rules *ratelimit.Ruleset, opts *Options) (*Report, error) {
	o := opts.withDefaults()
	text, err := uncompressed(log)
	if err != nil {
		return nil, err
	}
	in := newBlocks(text)
	first, err := in.next()
	if err != nil {
		if ended(err) {
			err = ErrEmpty
		}
		return nil, err
	}
	r := &run{Options: o, sides: []*side{newSide(rules, &o)}, report: &Report{}}
	if err := r.prepare(first, rules); err != nil {
		return nil, err
	}
	if o.Against != nil {
		r.sides = append(r.sides, newSide(o.Against, &o))
	}
	if err := r.blocks(ctx, first, in); err != nil {
		return nil, err
	}
	if r.report.Lines == 0 {
		return nil, ErrEmpty
	}
	if r.report.Lines == r.report.Unreadable {
		return nil, fmt.Errorf("%w: line %d: %s", ErrUnreadable, r.report.BadLines[0].Line, r.report.BadLines[0].Reason)
	}
	r.finish()
	return r.report, nil
}

// uncompressed returns the text of a log that may be compressed with gzip.
func uncompressed(log io.Reader) (io.Reader, error) {
	r := bufio.NewReaderSize(log, 64<<10)
	magic, err := r.Peek(2)
	if err != nil && !ended(err) {
		return nil, err
	}
	if !bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		return r, nil
	}
	return gzip.NewReader(r)
}

// run is the state of a replay.
type run struct {
	Options
	plan   *plan
	sides  []*side
	report *Report
	newest int64
	breaks uint64 // line breaks so far
}

// prepare determines format and mapping.
func (r *run) prepare(first block, rules *ratelimit.Ruleset) error {
	if r.Format == "" || r.Format == Auto {
		var err error
		if r.Format, err = detectFirst(first.text); err != nil {
			return err
		}
	}
	m := r.Mapping
	if m == nil {
		m = &Mapping{}
	}
	if m.Domain == "" {
		names := rules.Domains()
		if len(names) != 1 {
			return fmt.Errorf("the configuration has %d domains: name one in the mapping", len(names))
		}
		named := *m
		named.Domain = names[0]
		m = &named
	}
	if !rules.Has(m.Domain) && (r.Against == nil || !r.Against.Has(m.Domain)) {
		return fmt.Errorf("unknown domain %q: the configuration has %s", m.Domain, strings.Join(rules.Domains(), ", "))
	}
	if len(m.Descriptors) == 0 {
		m = r.derive(m, rules)
	}
	if err := m.check(r.Format); err != nil {
		if r.report.KeysWithoutField != nil {
			err = fmt.Errorf("%w: the %s log has no field for %s: write a mapping", err, r.Format, strings.Join(r.report.KeysWithoutField, ", "))
		}
		return err
	}
	r.plan = newPlan(m, r.Format)
	r.report.Format, r.report.Domain = r.Format, m.Domain
	for i := range m.Descriptors {
		r.report.Descriptors = append(r.report.Descriptors, m.Descriptors[i].String())
	}
	return nil
}

// derive adds the default descriptors of both configurations to a mapping.
func (r *run) derive(m *Mapping, rules *ratelimit.Ruleset) *Mapping {
	all := *m
	for _, rules := range []*ratelimit.Ruleset{rules, r.Against} {
		if rules == nil {
			continue
		}
		d, without := DefaultMapping(rules, m.Domain, r.Format)
		r.report.KeysWithoutField = append(r.report.KeysWithoutField, without...)
		for i := range d.Descriptors {
			all.add(d.Descriptors[i])
		}
	}
	return &all
}

// add adds a descriptor that the mapping does not have.
func (m *Mapping) add(d Descriptor) {
	for i := range m.Descriptors {
		if m.Descriptors[i].String() == d.String() {
			return
		}
	}
	m.Descriptors = append(m.Descriptors, d)
}

// job is a block on its way through the workers.
type job struct {
	block
	done chan *batch
}

// blocks reads, parses and replays all blocks. Workers parse them concurrently; they are replayed in
// the order of the log.
func (r *run) blocks(ctx context.Context, first block, in *blocks) error {
	ctx, cancel := context.WithCancel(ctx)
	workers := runtime.GOMAXPROCS(0)
	work, order := make(chan *job), make(chan *job, 2*workers)
	free := make(chan *batch, 4*workers)
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	for range workers {
		all.Go(func() { r.parse(work, free) })
	}
	var readError error
	all.Go(func() {
		defer close(work)
		defer close(order)
		readError = feed(ctx, first, in, work, order)
	})
	for j := range order {
		b := <-j.done
		if err := r.replay(ctx, b); err != nil {
			return err
		}
		select {
		case free <- b:
		default:
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return readError
}

// feed hands the blocks to the workers, and in their order to the replay.
func feed(ctx context.Context, first block, in *blocks, work, order chan<- *job) error {
	for next := first; ; {
		j := &job{block: next, done: make(chan *batch, 1)}
		select {
		case work <- j:
		case <-ctx.Done():
			return nil
		}
		select {
		case order <- j:
		case <-ctx.Done():
			return nil
		}
		var err error
		if next, err = in.next(); err != nil {
			if ended(err) {
				return nil
			}
			return err
		}
	}
}

func (r *run) parse(work <-chan *job, free <-chan *batch) {
	p := r.plan.newParser()
	for j := range work {
		var b *batch
		select {
		case b = <-free:
		default:
			b = &batch{}
		}
		p.parse(j.block, b)
		j.done <- b
	}
}

// replay replays a batch and counts its lines.
func (r *run) replay(ctx context.Context, b *batch) error {
	r.countLines(b)
	var second sync.WaitGroup
	errs := make([]error, len(r.sides))
	for i, s := range r.sides[1:] {
		second.Go(func() { errs[i+1] = s.replay(ctx, b) })
	}
	errs[0] = r.sides[0].replay(ctx, b)
	second.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if d := r.report.Difference; d != nil {
		for i, refused := range r.sides[0].refused {
			d.count(refused, r.sides[1].refused[i])
		}
	}
	if r.Progress != nil {
		r.Progress(r.report.Lines)
	}
	return nil
}

func (r *run) countLines(b *batch) {
	t := r.report
	if len(r.sides) > 1 && t.Difference == nil {
		t.Difference = &Difference{}
	}
	for _, bad := range b.badLines {
		if len(t.BadLines) < maxBadLines {
			t.BadLines = append(t.BadLines, BadLine{bad.Line + r.breaks + 1, bad.Reason})
		}
	}
	r.breaks += b.breaks
	t.Lines += b.lines
	t.Unreadable += b.bad
	t.Skipped += b.skipped
	for i := range b.records {
		when := b.records[i].when
		if t.Requests++; t.Requests == 1 {
			r.newest = when
			t.First = time.Unix(0, when).UTC()
		}
		if when < r.newest {
			t.OutOfOrder++
			if first := time.Unix(0, when).UTC(); first.Before(t.First) {
				t.First = first
			}
		}
		r.newest = max(r.newest, when)
	}
	t.Last = time.Unix(0, r.newest).UTC()
}
