// Package face has one of everything that a face may show.
package face

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"
)

// Kind has constants that count.
type Kind uint8

// The kinds. A constant that moves changes the listing.
const (
	_ Kind = iota
	First
	Second
	hidden
	Last Kind = 1 << iota
)

// Constants of several sorts.
const (
	Text    = "te" + "xt"
	Large   = math.MaxUint32
	Timeout = 2 * time.Second
	Float   = 0.5
	A, B    = iota, 'b'
)

// Sizes that need another package's constant, and repeat it.
const (
	Short time.Duration = time.Second << iota
	Long
)

// Variables with and without a type that can be told.
var (
	ErrGone     = errors.New("gone")
	Default     = &Options{Limit: 3}
	Clock       func() time.Time
	lowercase       = 1
	Left, Right int = 1, 2
	Table           = map[string][]Kind{"a": {First}}
	_           fmt.Stringer
)

// Options has fields.
type Options struct {
	Limit, Burst int `json:"limit,omitempty"`
	// Now is a function.
	Now     func() time.Time
	Nested  struct{ X, y int }
	private bool
	shared
	*Store[string]
	context.Context
}

type shared struct {
	Name string
	note string
}

// Describe is lent to Options.
func (shared) Describe() string { return "" }

type alone struct{ Invisible int }

// Unseen does not show.
func (alone) Unseen() {}

// Store is generic.
type Store[K comparable] struct {
	items map[K]struct{}
}

// Add is a method of a generic type.
func (s *Store[K]) Add(ctx context.Context, keys ...K) (n int, err error) { return 0, nil }

func (s *Store[K]) drop() {}

// Seam is an interface.
type Seam interface {
	fmt.Stringer
	Add(ctx context.Context, hits []int) error
	secret()
}

// Number is a constraint.
type Number interface {
	~int | ~int64
}

// Middleware is a function, Old another name.
type (
	Middleware func(next func(int)) func(int)
	Old        = Options
)

// Map is generic.
func Map[K comparable, V any](m map[K]V, f func(K) V) map[K]V { return m }

// New has an optional struct.
func New(limit int, opts *Options) *Store[string] { return nil }

func unexported() {}
