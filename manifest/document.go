package manifest

import (
	"cmp"

	"github.com/ashlar-go/ashlar/internal/jsonpos"
)

// Node is one value of a document: its Kind, the byte offsets Start and End, the Text of
// a string or the literal of a number or boolean, the Elements of an array and the
// Members of an object. Nodes share memory with their document and must not be changed.
type Node = jsonpos.Node

// Member is one Key of an object with its Value. KeyStart and KeyEnd are the byte
// offsets of the key with its quotes. A member is Shadowed if its key occurs again later
// in the same object; it is then ignored.
type Member = jsonpos.Member

// Kind is the type of a JSON value.
type Kind = jsonpos.Kind

// The kinds of JSON values (RFC 8259, section 3). The zero Kind is KindNull.
const (
	KindNull    = jsonpos.Null
	KindBoolean = jsonpos.Boolean
	KindNumber  = jsonpos.Number
	KindString  = jsonpos.String
	KindArray   = jsonpos.Array
	KindObject  = jsonpos.Object
)

// Options are optional settings. A nil *Options and zero fields mean the defaults, which
// are those of the specification. A negative limit means the default too.
type Options struct {
	// Profile is the set of rules. Default: [Neutral].
	Profile Profile

	// BundleLabels are the registryType labels of bundle files, which need a fileSha256.
	// Default (nil): "mcpb". An empty slice means that there are none.
	BundleLabels []string

	// MaxBytes limits the size of a document. Default: 1 MiB.
	MaxBytes int
	// MaxDepth limits how deep arrays and objects are nested, at most 10,000.
	// Default: 64.
	MaxDepth int
	// MaxMetaDepth replaces MaxDepth below the _meta of the root, whose contents are
	// free, if it is larger. Default: 10,000, the most.
	MaxMetaDepth int
	// MaxValues limits the number of JSON values. Default: 100,000.
	MaxValues int
	// MaxProblems limits how many problems a report lists. Default: 100.
	MaxProblems int
}

// The default limits.
const (
	defaultBytes     = 1 << 20
	defaultDepth     = 64
	defaultMetaDepth = 10_000
	defaultValues    = 100_000
	defaultProblems  = 100
	noLimit          = int(^uint(0) >> 1)
)

// withDefaults returns a copy of the options without zero fields.
func (o *Options) withDefaults() Options {
	full := *cmp.Or(o, &Options{})
	full.MaxBytes = cmp.Or(max(0, full.MaxBytes), defaultBytes)
	full.MaxDepth = cmp.Or(max(0, full.MaxDepth), defaultDepth)
	full.MaxMetaDepth = cmp.Or(max(0, full.MaxMetaDepth), defaultMetaDepth)
	full.MaxValues = cmp.Or(max(0, full.MaxValues), defaultValues)
	full.MaxProblems = cmp.Or(max(0, full.MaxProblems), defaultProblems)
	return full
}

// Document is the text of a manifest and its tree of values. It does not change and may
// be shared between goroutines.
type Document struct {
	json  *jsonpos.Document
	found findings // the problems of the syntax
	opts  Options  // without zero fields
}

// Parse reads a document. It accepts any JSON value; [Document.Validate] reports whether
// the value is a manifest.
//
// The document is never nil. The error is nil or [Problems] of [CategorySyntax]: text
// that is not JSON (RFC 8259), text that JSON readers treat differently (duplicate keys,
// invalid UTF-8, unpaired surrogates, a byte order mark, data after the end), or an
// exceeded limit (REFERENCE.md, 6). Text that readers treat differently still has a tree
// and can be validated.
func Parse(data []byte, opts *Options) (*Document, error) {
	d := parse(data, opts)
	return d, d.syntaxError()
}

func parse(data []byte, opts *Options) *Document {
	full := opts.withDefaults()
	d := &Document{found: findings{max: full.MaxProblems}, opts: full}
	d.json = jsonpos.Parse(data, &jsonpos.Limits{
		Bytes: full.MaxBytes, Depth: full.MaxDepth, Key: "_meta", KeyDepth: max(full.MaxDepth, full.MaxMetaDepth),
		Values: full.MaxValues, Problems: full.MaxProblems,
	})
	for _, p := range d.json.Problems {
		d.found.errors = append(d.found.errors, Problem{
			Rule: Rule(p.Code), Severity: Error, Pointer: p.Pointer, Offset: p.Offset, End: p.End,
			Message: p.Message, Suggestion: p.Suggestion, Fix: (*Edit)(p.Fix),
		})
	}
	d.found.nErrors = d.json.Count
	return d
}

// syntaxError returns the problems that Parse found, or nil.
func (d *Document) syntaxError() error {
	if d.found.nErrors == 0 {
		return nil
	}
	return d.syntaxReport().Err()
}

// syntaxReport reports the problems that Parse found.
func (d *Document) syntaxReport() *Report { return d.found.report(d.json.Text, &origin{opts: d.opts}) }

// Root returns the tree of values, or nil if the text is not JSON.
func (d *Document) Root() *Node { return d.json.Root }

// Text returns the text that was given to [Parse]. It is empty if that was too large.
func (d *Document) Text() string { return d.json.Text }

// Lookup returns the value at a JSON pointer (RFC 6901), or nil if there is none.
func (d *Document) Lookup(pointer string) *Node { return d.json.Root.Lookup(pointer) }

// Position returns the line and column of a byte offset, counted as in [Problem]. An
// offset beyond the end means the end.
func (d *Document) Position(offset int) (line, column int) {
	return jsonpos.Position(d.json.Text, offset)
}
