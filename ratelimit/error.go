package ratelimit

import (
	"errors"
	"fmt"
)

// ErrorKind classifies errors. Transports map it to their status codes.
type ErrorKind uint8

const (
	// Invalid is a request that can't be decided, whatever the configuration.
	Invalid ErrorKind = iota + 1
	// NotReady is an engine without rules.
	NotReady
	// StoreFailure is a counter store that failed, panicked or did not respond in time.
	StoreFailure
)

// Error is the error of a failed decision. Denial is not an error but a Decision.
type Error struct {
	Kind    ErrorKind
	Message string // safe to show to a caller
	Err     error  // the cause, for logs; may be nil
}

// Error returns the message and the cause.
func (e *Error) Error() string {
	if e.Err == nil || e.Err.Error() == e.Message {
		return e.Message
	}
	return e.Message + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Sentinels for errors.Is, each wrapped in an *Error. The messages are those of the
// reference service.
var (
	ErrEmptyDomain   = errors.New("rate limit domain must not be empty")
	ErrNoDescriptors = errors.New("rate limit descriptor list must not be empty")
	ErrNoRules       = errors.New("no rate limit configuration loaded")
)

// sentinelError returns an *Error of its own for each call: callers may modify it.
func sentinelError(kind ErrorKind, sentinel error) error {
	return &Error{Kind: kind, Message: sentinel.Error(), Err: sentinel}
}

// ErrOverloaded is wrapped by the errors of a Store that refused a call because this
// process has too many calls to it under way. It does not indicate a problem of the store.
var ErrOverloaded = errors.New("local overload")

// KindOf returns the kind of the first *Error in err's tree, 0 if there is none.
func KindOf(err error) ErrorKind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return 0
}

func storeError(err error) error {
	if e, ok := errors.AsType[*Error](err); ok && e.Kind == Invalid {
		return e
	}
	return &Error{Kind: StoreFailure, Message: "rate limit counter store failed", Err: err}
}

// counterError is storeError for operations that a store may lack.
func counterError(err error) error {
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return fmt.Errorf("ratelimit: %w", err)
	case err != nil:
		return storeError(err)
	}
	return nil
}

// Fault is an error or a warning about the domains given to Compile.
type Fault struct {
	// Domain is the domain's name, and Source its index in the list given to
	// Compile: with merging, several sources may share a name.
	Domain string
	Source int
	// Path leads to the rule: the index in Domain.Rules, then in that rule's Rules
	// and so on. Empty means the domain itself.
	Path []int
	// Field names the field in the configuration format ("rate_limit.unit"); empty for the
	// rule as a whole.
	Field string
	// Reason states the problem and the solution.
	Reason string
	// Other is the position of the other rule of a conflict between two; nil without one.
	Other *Position
}

// Position is the position of a rule in the domains given to Compile.
type Position struct {
	Source int   // as in Fault
	Path   []int // as in Fault
}

// String returns the path from the list given to Compile: "domains[0].descriptors[2]".
func (p *Position) String() string { return fmt.Sprintf("domains[%d]%s", p.Source, pathText(p.Path)) }

// pathText returns a path with a dot before each descriptor.
func pathText(path []int) (s string) {
	for _, n := range path {
		s += fmt.Sprintf(".descriptors[%d]", n)
	}
	return s
}

// Error names the position in the tree and the reason, such as
//
//	domain "mongo": descriptors[0].descriptors[2].rate_limit.unit: invalid rate limit unit 'x'
func (f *Fault) Error() string {
	at := pathText(f.Path)
	if f.Field != "" {
		at += "." + f.Field
	}
	if at != "" {
		at = at[1:] + ": "
	}
	s := fmt.Sprintf("domain %q: %s%s", f.Domain, at, f.Reason)
	if f.Other != nil {
		s += " (the other is at " + f.Other.String() + ")"
	}
	return s
}

// Faults is the error of Compile: all faults, in the order of the input. It is never
// empty.
type Faults []*Fault

// Error returns one line per fault.
func (fs Faults) Error() string { return errors.Join(fs.Unwrap()...).Error() }

// Unwrap gives errors.As access to the single faults.
func (fs Faults) Unwrap() []error {
	errs := make([]error, len(fs))
	for i, f := range fs {
		errs[i] = f
	}
	return errs
}

// validate rejects requests that are invalid whatever the rules, before anything is
// counted.
func validate(r *Request) error {
	if r.Domain == "" {
		return sentinelError(Invalid, ErrEmptyDomain)
	}
	if len(r.Descriptors) == 0 {
		return sentinelError(Invalid, ErrNoDescriptors)
	}
	for i := range r.Descriptors {
		invalid := func(field, format string, args ...any) error {
			return &Error{Kind: Invalid, Message: fmt.Sprintf("descriptors[%d].limit.%s: ", i, field) + fmt.Sprintf(format, args...)}
		}
		switch o := r.Descriptors[i].Limit; {
		case o == nil:
		case !o.Unit.Valid():
			return invalid("unit", "invalid rate limit unit %d: use %s", o.Unit, UnitNames)
		case int64(o.UnitMultiplier) > MaxWindow/o.Unit.Seconds():
			return invalid("unit_multiplier", "%d makes windows longer than ten years: use at most %d", o.UnitMultiplier, MaxWindow/o.Unit.Seconds())
		case !o.Algorithm.Valid():
			return invalid("algorithm", "unknown algorithm %d", o.Algorithm)
		case o.Burst != 0 && !o.Algorithm.HasBursts():
			return invalid("burst", "needs the algorithm token_bucket: %s has no bursts", o.Algorithm)
		case int64(o.Burst) > maxBurst(o.RequestsPerUnit, o.Unit, o.UnitMultiplier):
			return invalid("burst", "%d takes more than ten years to fill: use at most %d", o.Burst, maxBurst(o.RequestsPerUnit, o.Unit, o.UnitMultiplier))
		}
	}
	return nil
}
