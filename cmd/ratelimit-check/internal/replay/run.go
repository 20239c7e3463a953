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
	"slices"
	"strings"
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
	// Top is the number of keys and clients that are reported of each rule. Default, when 0 or less: 10.
	Top int
	// Progress, if not nil, is called every 10,000 lines with the number of lines that were read.
	Progress func(lines uint64)
}

func (o *Options) withDefaults() Options {
	r := *cmp.Or(o, &Options{})
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
	in := bufio.NewReaderSize(text, maxLine)
	first, err := newReplayer(rules, &o)
	if err != nil {
		return nil, err
	}
	r := &run{Options: o, replayers: []*replayer{first}, report: &Report{}}
	if err := r.prepare(in, rules); err != nil {
		return nil, err
	}
	if o.Against != nil {
		second, err := newReplayer(o.Against, &o)
		if err != nil {
			return nil, err
		}
		r.replayers = append(r.replayers, second)
		r.report.Difference = &Difference{}
	}
	if err := r.lines(ctx, in); err != nil {
		return nil, err
	}
	if r.report.Lines == 0 {
		return nil, ErrEmpty
	}
	if r.report.Lines == r.report.Unreadable {
		return nil, fmt.Errorf("%w: line %d: %s", ErrUnreadable, r.report.BadLines[0].Line, r.report.BadLines[0].Reason)
	}
	for _, d := range r.parser.descriptors {
		if !d.made {
			r.report.DescriptorsWithoutLine = append(r.report.DescriptorsWithoutLine, d.String())
			r.report.Fields = r.fields
		}
	}
	r.report.Result = r.replayers[0].result(o.Top)
	if o.Against != nil {
		r.report.Against = new(r.replayers[1].result(o.Top))
	}
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
	parser    *parser
	fields    []string // that the first lines have
	replayers []*replayer
	report    *Report
}

// prepare determines format and mapping.
func (r *run) prepare(in *bufio.Reader, rules *ratelimit.Ruleset) error {
	first, err := in.Peek(detectBytes)
	if err != nil && !ended(err) {
		return err
	}
	if r.Format == "" || r.Format == Auto {
		if r.Format, err = detectFirst(first); err != nil {
			return err
		}
	}
	if r.fields = r.Format.names(); r.fields == nil {
		r.fields = memberNames(first)
	}
	m := *cmp.Or(r.Mapping, &Mapping{})
	configurations := []*ratelimit.Ruleset{rules}
	if r.Against != nil {
		configurations = append(configurations, r.Against)
	}
	if m.Domain == "" {
		names := rules.Domains()
		if len(names) != 1 {
			return fmt.Errorf("the configuration has %d domains: name one in the mapping", len(names))
		}
		m.Domain = names[0]
	}
	if !slices.ContainsFunc(configurations, func(set *ratelimit.Ruleset) bool { return set.Has(m.Domain) }) {
		return fmt.Errorf("unknown domain %q: the configuration has %s", m.Domain, strings.Join(rules.Domains(), ", "))
	}
	if len(m.Descriptors) == 0 {
		var derived *Mapping
		derived, r.report.KeysWithoutField = DefaultMapping(m.Domain, r.Format, configurations...)
		m.Descriptors = derived.Descriptors
	}
	if err := m.check(r.Format); err != nil {
		if r.report.KeysWithoutField != nil {
			err = fmt.Errorf("%w: the %s log has no field for %s: write a mapping", err, r.Format, strings.Join(r.report.KeysWithoutField, ", "))
		}
		return err
	}
	r.parser = newParser(&m, r.Format)
	r.report.Format, r.report.Domain = r.Format, m.Domain
	for i := range m.Descriptors {
		r.report.Descriptors = append(r.report.Descriptors, m.Descriptors[i].String())
	}
	return nil
}

const (
	// progressLines is the number of lines after which Options.Progress is called, and the context checked.
	progressLines = 10_000
	// maxBadLines bounds the unreadable lines that are reported with their reason.
	maxBadLines = 5
)

// lines reads all lines and replays them.
func (r *run) lines(ctx context.Context, in *bufio.Reader) error {
	t := r.report
	for number := uint64(1); ; number++ {
		line, err := nextLine(in)
		if err != nil && !errors.Is(err, errOverlong) {
			if ended(err) {
				return nil
			}
			return err
		}
		if err == nil && len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		t.Lines++
		var when int64
		var client string
		if err == nil {
			when, client, err = r.parser.parse(line)
		}
		switch {
		case err != nil:
			if t.Unreadable++; len(t.BadLines) < maxBadLines {
				t.BadLines = append(t.BadLines, BadLine{number, err.Error()})
			}
		case len(r.parser.request.Descriptors) == 0:
			t.Skipped++
		default:
			if err := r.replay(ctx, when, client); err != nil {
				return err
			}
		}
		if t.Lines%progressLines == 0 {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if r.Progress != nil {
				r.Progress(t.Lines)
			}
		}
	}
}

// replay replays the request of the last line.
func (r *run) replay(ctx context.Context, when int64, client string) error {
	t := r.report
	at := time.Unix(0, when).UTC()
	if t.Requests++; t.Requests == 1 {
		t.First, t.Last = at, at
	}
	if at.Before(t.Last) {
		t.OutOfOrder++
		if at.Before(t.First) {
			t.First = at
		}
	} else {
		t.Last = at
	}
	refused := make([]bool, len(r.replayers), 2)
	for i, s := range r.replayers {
		var err error
		if refused[i], err = s.replay(ctx, &r.parser.request, when, client); err != nil {
			return err
		}
	}
	if d := t.Difference; d != nil {
		switch {
		case refused[0] && refused[1]:
			d.Both++
		case refused[0]:
			d.OnlyResult++
		case refused[1]:
			d.OnlyAgainst++
		}
	}
	return nil
}
