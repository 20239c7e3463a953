package config

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// File is one configuration file: YAML with one domain.
type File struct {
	Name string // stands before line and column in faults
	Data []byte
}

// Options are the choices of [Parse], [Load] and [LoadDir]. A nil *Options is
// the zero one.
type Options struct {
	// MergeDomains lets several files describe one domain (MERGE_DOMAIN_CONFIG).
	// Their rules then follow each other in the order of the file names. By
	// default the second file is a fault.
	MergeDomains bool
	// IgnoreDotFiles leaves out files and directories whose name begins with a
	// dot (RUNTIME_IGNOREDOTFILES).
	IgnoreDotFiles bool

	// MaxFileBytes is how long one file may be; 0 means 16 MiB.
	MaxFileBytes int64
	// MaxTotalBytes is how long all files that are loaded may be together; 0
	// means 64 MiB.
	MaxTotalBytes int64
	// MaxFiles is how many files and directories Load looks at; 0 means 10,000.
	MaxFiles int
	// MaxDepth is how many directories may be in each other; 0 means 32.
	MaxDepth int
}

func (o *Options) withDefaults() Options {
	var r Options
	if o != nil {
		r = *o
	}
	r.MaxFileBytes = cmp.Or(r.MaxFileBytes, 16<<20)
	r.MaxTotalBytes = cmp.Or(r.MaxTotalBytes, 64<<20)
	r.MaxFiles = cmp.Or(r.MaxFiles, 10_000)
	r.MaxDepth = cmp.Or(r.MaxDepth, 32)
	return r
}

// Config is what a set of files says. Nothing in it may be changed.
type Config struct {
	// Ruleset is what an engine uses.
	Ruleset *ratelimit.Ruleset
	// Domains is what Ruleset was compiled from, one for each of Files.
	Domains []ratelimit.Domain
	// Files are the names of the files, sorted.
	Files []string
	// Warnings are what was accepted but is hardly meant, in the order of Faults.
	Warnings []*Fault
}

// Parse reads files, in the order of their names whatever the order given. The
// error is [Faults]. No files at all make an empty Config.
func Parse(files []File, opts *Options) (*Config, error) {
	return build(files, nil, opts.withDefaults())
}

// build is Parse for files of which some could not be read: faults says why.
func build(files []File, faults Faults, opts Options) (*Config, error) {
	var c Config
	var docs []*document
	for _, f := range sortFiles(files) {
		doc := decodeFile(f, opts)
		faults = append(faults, doc.faults...)
		c.Warnings = append(c.Warnings, doc.warnings...)
		if doc.ok {
			docs = append(docs, doc)
			c.Files = append(c.Files, f.Name)
			c.Domains = append(c.Domains, doc.domain)
		}
	}
	rules, err := ratelimit.Compile(c.Domains, &ratelimit.CompileOptions{MergeDomains: opts.MergeDomains})
	faults = append(faults, translateError(docs, err)...)
	if len(faults) > 0 {
		return nil, Faults(tidy(faults))
	}
	c.Ruleset = rules
	c.Warnings = tidy(append(c.Warnings, translate(docs, rules.Warnings())...))
	return &c, nil
}

func sortFiles(files []File) []File {
	return slices.SortedFunc(slices.Values(files), func(a, b File) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), bytes.Compare(a.Data, b.Data))
	})
}
