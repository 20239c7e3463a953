package manifest

// Document is the text of a manifest, read: a tree of values that know where they
// stand. It doesn't change and may be shared between goroutines.
type Document struct {
	text  string
	root  *Node
	found findings
}

// Parse reads a document. It takes whatever is JSON: whether that is a manifest is
// what [Document.Validate] says.
//
// The document is never nil. The error is nil or [Problems], those of the syntax:
// text that is not JSON (RFC 8259), and text on which readers disagree, as
// duplicate keys, invalid UTF-8, lone surrogates, a byte order mark or data after
// the end; and what is beyond a bound of the options. In the second case the
// document has a tree in spite of the error, and validating goes on.
func Parse(data []byte, opts *Options) (*Document, error) {
	d := parse(data, opts)
	return d, d.syntax().Err()
}

func parse(data []byte, opts *Options) *Document {
	full := opts.defaults()
	d := &Document{found: findings{max: full.MaxProblems}}
	r := reader{opts: &full, found: &d.found}
	if len(data) > full.MaxBytes {
		r.tooLarge(len(data))
		return d
	}
	d.text = string(data)
	r.text = d.text
	d.root = r.document()
	return d
}

// syntax reports what reading found.
func (d *Document) syntax() *Report {
	if d.found.nErrors == 0 {
		return &Report{}
	}
	return d.found.report(d.text)
}

// Root is the tree of values, or nil if the text is not JSON.
func (d *Document) Root() *Node { return d.root }

// Text is the document as it was given to [Parse], or empty if it was too large.
func (d *Document) Text() string { return d.text }

// Position returns the line and column of a byte offset, counted as in [Problem].
// An offset beyond the end is the end.
func (d *Document) Position(offset int) (line, column int) {
	c := newCursor(d.text)
	c.moveTo(offset)
	return c.line, c.column
}
