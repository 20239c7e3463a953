package config

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// File is one configuration file: YAML with one domain.
type File struct {
	Name string // precedes line and column in faults
	Data []byte
}

// Options configure [Parse], [Load] and [LoadDir]. Nil, like each bound that is not
// positive, means the default.
type Options struct {
	// MergeDomains lets several files describe one domain (MERGE_DOMAIN_CONFIG):
	// their rules are joined in the order of the file names. By default the second
	// file is a fault.
	MergeDomains bool
	// Fields are those that a rule may have. Default: ratelimit.Fields().
	Fields []ratelimit.Field
	// IgnoreDotFiles skips files and directories whose name begins with a dot
	// (RUNTIME_IGNOREDOTFILES).
	IgnoreDotFiles bool

	// MaxFileBytes is the size of the largest file; 0 means 16 MiB.
	MaxFileBytes int64
	// MaxTotalBytes bounds the size of all files together; 0 means 64 MiB.
	MaxTotalBytes int64
	// MaxFiles bounds the number of files and directories; 0 means 10,000.
	MaxFiles int
	// MaxDepth bounds how deep directories may be nested; 0 means 32.
	MaxDepth int
}

func (o *Options) withDefaults() Options {
	var r Options
	if o != nil {
		r = *o
	}
	r.MaxFileBytes = cmp.Or(max(r.MaxFileBytes, 0), 16<<20)
	r.MaxTotalBytes = cmp.Or(max(r.MaxTotalBytes, 0), 64<<20)
	r.MaxFiles = cmp.Or(max(r.MaxFiles, 0), 10_000)
	r.MaxDepth = cmp.Or(max(r.MaxDepth, 0), 32)
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
	// Files are the names of the files, sorted.
	Files []string
	// Ignored are the paths of files that Load did not read, because their names end in
	// neither ".yaml" nor ".yml".
	Ignored []string
	// Warnings report likely mistakes, in the order of Faults.
	Warnings []*Fault
}

// Parse decodes and compiles files, in the order of their names. The error is
// [Faults]. No files make an empty Config.
func Parse(files []File, opts *Options) (*Config, error) {
	return build(files, nil, opts.withDefaults())
}

// build is Parse for files of which some could not be read, for which faults has the
// reasons.
func build(files []File, faults []*Fault, opts Options) (*Config, error) {
	files = slices.SortedFunc(slices.Values(files), func(a, b File) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), bytes.Compare(a.Data, b.Data))
	})
	var c Config
	var docs []*document
	for _, f := range files {
		doc := decodeFile(f, &opts)
		faults = append(faults, doc.faults...)
		c.Warnings = append(c.Warnings, doc.warnings...)
		if doc.ok {
			docs = append(docs, doc)
			c.Files = append(c.Files, f.Name)
			c.Domains = append(c.Domains, doc.domain)
		}
	}
	position := func(at ratelimit.Position, field string) *Fault { return docs[at.Source].locate(at.Path, field) }
	rules, err := ratelimit.Compile(c.Domains, &ratelimit.CompileOptions{MergeDomains: opts.MergeDomains, Fields: opts.Fields})
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
	return &c, nil
}
