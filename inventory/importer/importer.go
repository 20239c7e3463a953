package importer

import (
	"bytes"
	"cmp"
	"compress/flate"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// Mode says what happens when a row is rejected.
type Mode uint8

const (
	// Stop changes nothing if a row is rejected.
	Stop Mode = iota
	// Skip applies the other rows.
	Skip
)

// The bounds of an import.
const (
	DefaultMaxRows  = 100_000 // of Options.MaxRows
	MaxProblems     = 1000    // of a Report
	batchRows       = records.MaxItems
	batchBytes      = 8 << 20
	MaxBytes        = 64 << 20 // of the rows of one transaction, as they are in the files
	maxWaiting      = 10_000
	maxWaitingBytes = 16 << 20
	maxPasses       = 100
)

// Options configure [Run]. Nil means the defaults.
type Options struct {
	// OnError says what happens when a row is rejected. Default: Stop.
	OnError Mode
	// DryRun changes nothing; the report has what would change.
	DryRun bool
	// New rejects rows for records that exist.
	New bool
	// Prune also deletes the records of the resources of the rows that no row is for, in the same
	// transaction. It needs Stop.
	Prune bool
	// MaxRows is the maximum number of rows with Stop or DryRun, which are one transaction. Default:
	// DefaultMaxRows.
	MaxRows int
	// MaxChanges is the maximum number of Report.Changes. Default: DefaultMaxRows.
	MaxChanges int
	// Hold is called with the bytes of memory that the rows of a transaction take, before they are read on. Its error ends
	// the import.
	Hold func(bytes int64) error
	// By is the caller, for the audit log.
	By records.Caller
	// Allow decides whether the caller may create (records.RouteCreate), change (RouteChange), delete
	// (RouteDelete), or name by natural keys (RouteList) the records of a resource. Its error ends the import. Default: all.
	Allow func(r *records.Resource, does records.Routes) error
	// Check may reject rows before they are applied. It returns the index of a row with what is wrong
	// with it, or -1. Default: none is rejected.
	Check func(ctx context.Context, rows []*Row) (index int, reason string, err error)
	// Progress is called now and then with the numbers of rows that were read, applied, and rejected so far. Those that were
	// applied in a transaction that fails are applied again.
	Progress func(read, applied, rejected int64)
	// Rejected is called with each rejected row. Its error ends the import.
	Rejected func(row *Row) error
}

// Report says what an import has done, or would do in a dry run.
type Report struct {
	Rows      int64     `json:"rows"` // that were read
	Created   int64     `json:"created"`
	Updated   int64     `json:"updated"`
	Unchanged int64     `json:"unchanged"`
	Deleted   int64     `json:"deleted"` // by Options.Prune
	Rejected  int64     `json:"rejected"`
	Problems  []Problem `json:"problems"`  // up to MaxProblems
	Truncated bool      `json:"truncated"` // whether there are more problems, or changes
	// Summary says in words what a dry run would change, with the records that go along, such as the ports of new devices.
	Summary string `json:"-"`
	// Changes are the changes of a dry run, as the audit log would have them.
	Changes []*records.AuditLog `json:"-"`
}

// Problem says what is wrong with a row.
type Problem struct {
	File   string `json:"-"`
	Line   int64  `json:"line"`   // from 1
	Column string `json:"column"` // the name of the field; empty for the whole row
	Value  string `json:"value"`  // of the field, up to 64 characters
	Reason string `json:"reason"` // what is wrong, and what would be right
	// Field and Key are a reference and its natural key, if that names no record, or several (see FileOptions.Names).
	Field string `json:"field,omitempty"`
	Key   string `json:"key,omitempty"`
}

// String returns the problem as in the message of a compiler.
func (p Problem) String() string {
	s := fmt.Sprintf("%s:%d: ", p.File, p.Line)
	if p.Column != "" {
		s += p.Column + " "
	}
	if p.Value != "" {
		s += fmt.Sprintf("%q ", p.Value)
	}
	return s + p.Reason
}

// Run applies the rows of some sources. With Stop, the report says what was wrong, and nothing is
// changed if it has a rejected row. The error is that of a source that can't be read on, of a store that
// fails, or of an option; rows that Skip has applied before stay, and the report counts them.
func Run(ctx context.Context, engine *records.Engine, sources []Source, opts *Options) (*Report, error) {
	if engine == nil {
		return &Report{}, errors.New("importer: the engine is nil")
	}
	m := &run{engine: engine, report: &Report{}, schema: engine.Store().Schema(), order: map[string]int{}, allowed: records.Rights{}, failed: rejected{}, ids: map[string]string{}}
	m.opts = *cmp.Or(opts, &Options{})
	m.opts.MaxRows, m.opts.MaxChanges = cmp.Or(m.opts.MaxRows, DefaultMaxRows), cmp.Or(m.opts.MaxChanges, DefaultMaxRows)
	if m.opts.Prune && m.opts.OnError != Stop {
		return m.report, errors.New("importer: Prune needs Stop: a record whose row is rejected would be deleted")
	}
	m.together = m.opts.OnError == Stop || m.opts.DryRun
	if m.opts.DryRun {
		m.preview = &records.Preview{}
		m.engine = engine.DryRun(m.preview)
	}
	for i, r := range m.schema.Resources() {
		m.order[r.Name] = 2 * i
	}
	err := m.all(ctx, sortByOrder(sources, rowsOf, m.order)) // others than files of one resource last
	if m.opts.OnError == Stop && m.report.Rejected > 0 {
		m.report.Created, m.report.Updated, m.report.Unchanged, m.report.Deleted, m.report.Changes = 0, 0, 0, 0, nil
		m.preview = nil
	}
	if m.preview != nil {
		visible := func(r *records.Resource) bool { return m.mayRead(r) == nil }
		m.report.Summary = m.preview.Only(visible).Message()
	}
	return m.report, err
}

// run is the state of an import.
type run struct {
	opts     Options
	engine   *records.Engine
	schema   *records.Schema
	report   *Report
	preview  *records.Preview // of a dry run
	together bool             // all rows are one transaction
	order    map[string]int   // of the resources, in steps of 2: those that others refer to come first
	allowed  records.Rights
	seen     seen

	batch, waiting []*Row // read, and waiting for records that they refer to
	bytes          int    // of the batch
	packed         int    // rows of the batch, see pack
	applied        int64  // rows
	zip            *flate.Writer
	failed         rejected
	ids            map[string]string // see pass.ids
}

// rowsOf returns the resource of all rows of a source, nil if it is not known.
func rowsOf(s Source) *records.Resource {
	if f, ok := s.(interface{ rowsOf() *records.Resource }); ok {
		return f.rowsOf()
	}
	return nil
}

// sortByOrder returns items in the order of their resources, as [records.Definition.ImportAfter] changes it, and
// those of none last.
func sortByOrder[T any](items []T, of func(T) *records.Resource, order map[string]int) []T {
	present := map[string]bool{}
	for _, item := range items {
		if r := of(item); r != nil {
			present[r.Name] = true
		}
	}
	position := func(item T) int {
		r := of(item)
		if r == nil {
			return 2 * len(order)
		}
		at := order[r.Name]
		for _, name := range r.ImportAfter {
			if present[name] {
				at = max(at, order[name]+1)
			}
		}
		return at
	}
	items = slices.Clone(items)
	slices.SortStableFunc(items, func(a, b T) int { return position(a) - position(b) })
	return items
}

// all reads and applies the rows.
func (m *run) all(ctx context.Context, sources []Source) error {
	for _, source := range sources {
		for {
			row, err := source.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				if p, ok := errors.AsType[*FileError](err); ok {
					m.problems(p.Problems)
				}
				if !m.together { // the rows before it are applied
					err = errors.Join(err, m.flush(ctx, false))
				}
				return err
			}
			if err := m.add(ctx, row); err != nil {
				return err
			}
		}
	}
	if err := m.flush(ctx, m.together); err != nil {
		return err
	}
	waiting := m.waiting
	m.waiting = nil
	if len(waiting) == 0 {
		return nil
	}
	_, err := m.apply(ctx, waiting, true)
	return err
}

// add adds a row to the batch, and applies the batch if it is full.
func (m *run) add(ctx context.Context, row *Row) error {
	m.report.Rows++
	if m.report.Rows%batchRows == 0 {
		m.progress(0, 0)
	}
	if len(row.Problems) > 0 && (row.Resource == nil || len(row.Patch) == 0) { // else it may have other faults
		if err := m.reject(row, row.Problems); err != nil {
			return err
		}
	} else {
		m.batch = append(m.batch, row)
	}
	if m.together {
		m.bytes += len(row.Text)
	} else {
		m.bytes += row.size()
	}
	switch {
	case !m.together && (len(m.batch) >= batchRows || m.bytes >= batchBytes):
		return m.flush(ctx, false)
	case m.together && (m.report.Rows > int64(m.opts.MaxRows) || m.bytes > MaxBytes):
		return &records.Error{Kind: records.Invalid, Message: fmt.Sprintf(
			"the rows are more than %d, or have more than %d MiB, which is the most that one transaction applies: use on_error=skip without dry_run, which applies them in batches, or parts of the file",
			m.opts.MaxRows, MaxBytes>>20)}
	case m.together && len(m.batch)-m.packed >= batchRows:
		if err := m.pack(ctx); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// progress reports how many rows a transaction has applied and rejected, which has not ended.
func (m *run) progress(applied, rejected int) {
	if m.opts.Progress != nil {
		m.opts.Progress(m.report.Rows, m.applied+int64(applied), m.report.Rejected+int64(rejected))
	}
}

// flush applies the batch. last says that no further rows follow.
func (m *run) flush(ctx context.Context, last bool) error {
	if m.together {
		if err := m.pack(ctx); err != nil {
			return err
		}
	}
	rows := m.batch
	m.batch, m.bytes, m.packed = nil, 0, 0
	if len(rows) == 0 {
		return nil
	}
	later, err := m.apply(ctx, rows, last)
	if err != nil {
		return err
	}
	m.waiting = append(m.waiting, later...)
	if !m.full() {
		return nil
	}
	if m.waiting, err = m.apply(ctx, m.waiting, false); err != nil || !m.full() {
		return err
	}
	rows, m.waiting = m.waiting, nil
	for _, row := range rows {
		row.pending = append(row.pending, row.problem("", fmt.Sprintf("waits for such a record with more than %d other rows: put the rows that others refer to first", maxWaiting)))
	}
	_, err = m.apply(ctx, rows, true)
	return err
}

// full reports whether too many rows wait.
func (m *run) full() bool {
	bytes := 0
	for _, row := range m.waiting {
		bytes += row.size()
	}
	return len(m.waiting) > maxWaiting || bytes > maxWaitingBytes
}

// reject reports a row.
func (m *run) reject(row *Row, problems []Problem) error {
	m.report.Rejected++
	m.problems(problems)
	m.failed.add(row)
	if m.opts.Rejected != nil {
		return m.opts.Rejected(row)
	}
	return nil
}

func (m *run) problems(problems []Problem) {
	n := min(len(problems), MaxProblems-len(m.report.Problems))
	m.report.Problems = append(m.report.Problems, problems[:n]...)
	m.report.Truncated = m.report.Truncated || n < len(problems)
}

// may checks the permission of the caller.
func (m *run) may(r *records.Resource, does records.Routes) error {
	if m.opts.Allow == nil || m.allowed.May(r.Name, does) {
		return nil
	}
	err := m.opts.Allow(r, does)
	if err == nil {
		m.allowed[r.Name] |= does
	}
	return err
}

// mayRead checks that the caller sees the records of a resource: a change of one shows it too.
func (m *run) mayRead(r *records.Resource) error {
	if m.may(r, records.RouteList) == nil {
		return nil
	}
	return m.may(r, records.RouteChange)
}

// Importable reports whether an import may create and change the records of a resource: it has a natural
// key, clients may create and change it, and it has no secrets.
func Importable(schema *records.Schema, r *records.Resource) bool {
	secret := slices.ContainsFunc(r.Fields(), func(f *records.Field) bool { return f.WriteOnly })
	return len(r.Keys) > 0 && !r.Internal && r.Routes.Has(records.RouteCreate) && r.Routes.Has(records.RouteChange) &&
		!secret && !slices.Contains(schema.Declaring(), r)
}

// seen remembers which records rows were for, so far back as memory allows.
type seen struct{ now, before map[string]*position }

// position is the line of a row.
type position struct {
	file string
	line int64
}

// maxSeen is the number of keys of one generation; there are two.
const maxSeen = 500_000

func (s *seen) add(key string, p *position) {
	if s.now == nil || len(s.now) >= maxSeen {
		s.now, s.before = map[string]*position{}, s.now
	}
	s.now[key] = p
}

// rowMemory is the memory of a row whose values are packed, in bytes, with what an import remembers of it.
const rowMemory = 350

// page has the values of consecutive rows, compressed: all rows of a transaction are kept until it commits.
type page []byte

// pack checks the rows of the batch that are not packed, and packs them.
func (m *run) pack(ctx context.Context) error {
	rows, err := m.check(ctx, m.batch[m.packed:])
	if err != nil {
		return err
	}
	m.batch = append(m.batch[:m.packed], rows...)
	if len(m.batch) < batchRows {
		return nil // few rows need no compression
	}
	var text []byte
	member := func(doc []byte) { text = append(binary.AppendUvarint(text, uint64(len(doc))), doc...) }
	for _, row := range rows {
		row.from = len(text)
		member(row.Text)
		text = binary.AppendUvarint(text, uint64(len(row.Patch)))
		for name, doc := range row.Patch {
			member([]byte(name))
			member(doc)
		}
	}
	var packed bytes.Buffer
	if m.zip == nil {
		m.zip, err = flate.NewWriter(&packed, flate.BestSpeed)
	}
	if err == nil {
		m.zip.Reset(&packed)
		_, _ = m.zip.Write(text) // a buffer does not fail, as in the next line
		err = m.zip.Close()
	}
	p := page(bytes.Clone(packed.Bytes()))
	for _, row := range rows {
		row.page = &p
	}
	unload(rows)
	m.packed = len(m.batch)
	return errors.Join(err, m.hold(len(p)+len(rows)*rowMemory))
}

// hold asks for memory.
func (m *run) hold(bytes int) error {
	if m.opts.Hold == nil {
		return nil
	}
	return m.opts.Hold(int64(bytes))
}

// load unpacks the values of rows.
func load(rows []*Row) error {
	for len(rows) > 0 {
		p := rows[0].page
		n := slices.IndexFunc(rows, func(row *Row) bool { return row.page != p })
		if n < 0 {
			n = len(rows)
		}
		if p != nil {
			text, err := io.ReadAll(flate.NewReader(bytes.NewReader(*p)))
			if err != nil {
				return err
			}
			for _, row := range rows[:n] {
				row.unpack(text[row.from:])
			}
		}
		rows = rows[n:]
	}
	return nil
}

func (row *Row) unpack(text []byte) {
	number := func() uint64 {
		n, size := binary.Uvarint(text)
		text = text[size:]
		return n
	}
	member := func() (doc []byte) {
		n := number()
		doc, text = text[:n:n], text[n:]
		return doc
	}
	row.Text, row.Patch = member(), records.Patch{}
	for range number() {
		name := string(member())
		row.Patch[name] = json.RawMessage(member())
	}
}

// unload drops the values of packed rows.
func unload(rows []*Row) {
	for _, row := range rows {
		if row.page != nil {
			row.Text, row.Patch = nil, nil
		}
	}
}
