package config

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// File is one configuration file: YAML with one domain.
type File struct {
	Name string // precedes line and column in faults
	Path string // precedes them instead if it is not empty
	Data []byte
	Err  error // why the file can't be read, which Parse reports
}

// The bounds of a set of files.
const (
	MaxFileBytes   = 16 << 20 // of a file
	maxTotalBytes  = 64 << 20 // of all files together
	maxFiles       = 10_000   // files and directories
	maxDirectories = 32       // within each other
)

// Options configure [Parse], [Load] and [LoadDir]. Nil means the default.
type Options struct {
	// MergeDomains lets several files describe one domain (MERGE_DOMAIN_CONFIG):
	// their rules are joined in the order of the file names. By default the second
	// file is a fault.
	MergeDomains bool
	// CalendarMonths is ratelimit.CompileOptions.CalendarMonths (USE_CALENDAR_MONTH_RATE_LIMIT).
	CalendarMonths bool
	// Fields are those that a rule may have. Default: ratelimit.Fields().
	Fields []ratelimit.Field
	// IgnoreDotFiles skips files and directories whose name begins with a dot
	// (RUNTIME_IGNOREDOTFILES).
	IgnoreDotFiles bool
	// Previous is a Config that was made with the same options. Files that it has with the same content are not decoded
	// again, and domains of which all files are the same not compiled. Default: all are.
	Previous *Config
}

func (o *Options) withDefaults() Options {
	r := *cmp.Or(o, &Options{})
	if r.Fields == nil {
		r.Fields = ratelimit.Fields()
	}
	return r
}

// Config is the content of a set of files. It must not be changed.
type Config struct {
	// Ruleset is for [ratelimit.Engine.Use].
	Ruleset *ratelimit.Ruleset
	// Domains is the input of Ruleset, one domain for each of Files.
	Domains []ratelimit.Domain
	// Files are the paths of the files, or the names of those without, sorted by name.
	Files []string
	// Ignored are the paths of files that Load did not read, because their names end in
	// neither ".yaml" nor ".yml".
	Ignored []string
	// Warnings report likely mistakes, in the order of Faults.
	Warnings []*Fault

	documents map[string]*document // by File.Name; the last of one name
	options   Options
}

// document returns a file decoded, as it was decoded before if it is the same.
func (c *Config) document(f File) *document {
	sum := sha256.Sum256(f.Data)
	if p := c.options.Previous; p != nil {
		if doc := p.documents[f.Name]; doc != nil && doc.sum == sum && doc.file == cmp.Or(f.Path, f.Name) {
			same := *doc
			return &same
		}
	}
	doc := decodeFile(f, &c.options)
	doc.sum = sum
	if len(doc.faults) == 0 { // the nodes of a file take many times the memory of its rules
		doc.root = nil
	}
	return doc
}

// Parse decodes and compiles files, in the order of their names. The error is
// [Faults]. No files make an empty Config.
func Parse(files []File, opts *Options) (*Config, error) {
	o := opts.withDefaults()
	files = slices.SortedFunc(slices.Values(files), func(a, b File) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), bytes.Compare(a.Data, b.Data))
	})
	if p := o.Previous; p != nil && (p.options.MergeDomains != o.MergeDomains || p.options.CalendarMonths != o.CalendarMonths) {
		o.Previous = nil
	}
	c := Config{documents: make(map[string]*document, len(files)), options: o}
	var docs []*document
	var contents [][]byte
	var faults []*Fault
	for _, f := range files {
		if f.Err != nil {
			reason := f.Err.Error()
			if e, ok := errors.AsType[*fs.PathError](f.Err); ok {
				reason = "cannot be read: " + e.Err.Error()
			}
			faults = append(faults, &Fault{File: oneLine(cmp.Or(f.Path, f.Name)), Reason: oneLine(reason), Cause: f.Err})
			continue
		}
		doc := c.document(f)
		faults = append(faults, doc.faults...)
		c.Warnings = append(c.Warnings, doc.warnings...)
		if doc.ok {
			docs, contents = append(docs, doc), append(contents, f.Data)
			c.documents[f.Name] = doc
			c.Files = append(c.Files, doc.file)
			c.Domains = append(c.Domains, doc.domain)
		}
	}
	// What Compile reports of a field that has a fault already would only repeat that.
	position := func(at ratelimit.Position, field string) *Fault {
		doc := docs[at.Source]
		if doc.root == nil {
			doc.root = decodeFile(File{Name: doc.file, Data: contents[at.Source]}, &o).root
		}
		p := doc.root.find(at.Path, field)
		if p.faulty {
			return nil
		}
		return &Fault{File: doc.file, Line: p.at.Line, Column: p.at.Column}
	}
	compile := &ratelimit.CompileOptions{MergeDomains: o.MergeDomains, CalendarMonths: o.CalendarMonths, Fields: o.Fields}
	if o.Previous != nil {
		compile.Previous = o.Previous.Ruleset
	}
	rules, err := ratelimit.Compile(c.Domains, compile)
	if compiled, ok := errors.AsType[ratelimit.Faults](err); ok {
		faults = append(faults, Translate(compiled, position)...)
	} else if err != nil {
		return nil, err
	}
	if len(faults) > 0 {
		return nil, Faults(sortFaults(faults))
	}
	c.Ruleset = rules
	c.Warnings = sortFaults(append(c.Warnings, Translate(rules.Warnings(), position)...))
	c.options.Previous = nil
	return &c, nil
}
