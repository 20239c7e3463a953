package ratelimit

// Domain is a named container of rules: what one configuration document, one
// resource of a configuration server or a few lines of Go describe. It is
// plain data; [Compile] checks it and makes it fast.
type Domain struct {
	Name  string // required, unique unless domains are merged
	Rules []Rule // the top level
}

// Rule is one entry of the tree that request descriptors are matched against,
// level by level (REFERENCE.md, 2).
//
// A rule with neither a Limit nor Rules lets what it matches pass unlimited and
// uncounted: it is whitelisted.
type Rule struct {
	// Key is matched whole and case-sensitively. Required.
	//
	// A Key that holds a "*" is a pattern as well; it is matched against the
	// entry's key, an underscore and its value.
	Key string
	// Value narrows the match. Empty matches every value of Key. A "*" in it
	// stands for zero or more bytes, at any place and any number of times.
	Value string
	// Limit is what an entry that ends here is held to; nil for none.
	Limit *Limit
	// Rules is the next level.
	Rules []Rule

	// ShadowMode lets everything pass while counting as if it did not.
	ShadowMode bool
	// QuotaMode makes the descriptors of a request that match such rules be over
	// limit only together: the request is over when all of them are.
	QuotaMode bool
	// DetailedMetric puts the values of the request into the statistics key of a
	// leaf, at every level. It wins over ValueToMetric.
	DetailedMetric bool
	// ValueToMetric puts the value of the request into this level's part of the
	// statistics key where Value is empty or a wildcard.
	ValueToMetric bool
	// ShareThreshold makes all values that match one wildcard share one counter.
	// Value must then end in "*".
	ShareThreshold bool
	// OnStoreFailure is what becomes of a descriptor held to Limit when its counter
	// can't be reached. Default, when empty: that of the engine's Options.
	OnStoreFailure FailurePolicy
	// Metadata is handed back in [Decision.Metadata] when a descriptor passes this
	// rule. Values are those of JSON: nil, bool, float64 or int, string,
	// []any and map[string]any.
	Metadata map[string]any
}

// Limit is how much a rule allows.
type Limit struct {
	// RequestsPerUnit is how many hits one window holds. 0 refuses every hit.
	RequestsPerUnit uint32
	// Unit is the window's length. Required unless Unlimited.
	Unit Unit
	// Unlimited lets everything pass without asking the counter store. It excludes
	// Unit and RequestsPerUnit.
	Unlimited bool
	// Name lets other rules replace this one, and is shown to callers.
	Name string
	// Replaces names the limits that stand back when this rule matches in the same
	// request.
	Replaces []string
}

// Per is a limit of n hits in each window of one unit.
func Per(n uint32, unit Unit) Limit { return Limit{RequestsPerUnit: n, Unit: unit} }
