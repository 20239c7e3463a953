package manifest

// Options is what may be set. A nil *Options and its zero fields mean the
// defaults, which are the specification's. A negative bound is the default too.
type Options struct {
	// Profile is the set of rules; zero is [Neutral].
	Profile Profile

	// BundleLabels are the registryType labels of bundle files, which need a
	// fileSha256. Nil is "mcpb" alone; an empty slice is none.
	BundleLabels []string

	// MaxBytes bounds the size of a document. Default: 1 MiB.
	MaxBytes int
	// MaxDepth bounds how deep arrays and objects are nested, at most 10,000.
	// Default: 64.
	MaxDepth int
	// MaxMetaDepth takes the place of MaxDepth below the root's _meta, whose
	// contents are free and may be deeper than a manifest. Default: 512.
	MaxMetaDepth int
	// MaxValues bounds the number of JSON values. Default: 100,000.
	MaxValues int
	// MaxProblems bounds how many problems a report lists. Default: 100.
	MaxProblems int
}

// The bounds where none is set.
const (
	defaultBytes     = 1 << 20
	defaultDepth     = 64
	defaultMetaDepth = 512
	defaultValues    = 100_000
	defaultProblems  = 100
)

// stackDepth is the deepest that anything here recurses, whatever is asked for.
const stackDepth = 10_000

// defaults returns a copy without zero fields.
func (o *Options) defaults() Options {
	var full Options
	if o != nil {
		full = *o
	}
	if full.BundleLabels == nil {
		full.BundleLabels = []string{"mcpb"}
	}
	full.MaxBytes = bound(full.MaxBytes, defaultBytes)
	full.MaxDepth = min(bound(full.MaxDepth, defaultDepth), stackDepth)
	full.MaxMetaDepth = min(bound(full.MaxMetaDepth, defaultMetaDepth), stackDepth)
	full.MaxValues = bound(full.MaxValues, defaultValues)
	full.MaxProblems = bound(full.MaxProblems, defaultProblems)
	return full
}

func bound(set, otherwise int) int {
	if set <= 0 {
		return otherwise
	}
	return set
}
