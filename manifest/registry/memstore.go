package registry

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
)

// MemOptions configures [NewMemStore]. Nil means the defaults.
type MemOptions struct {
	// MaxBytes limits the size of all manifests. Default: 1 GiB.
	MaxBytes int64
}

// MemStore is a Store in memory. Create it with [NewMemStore].
type MemStore struct {
	max int64

	mu       sync.RWMutex
	used     int64
	names    []string // sorted
	texts    []string // what is searched of each of names: the text of its latest version, folded
	servers  map[string]*memServer
	byTime   []*Entry // sorted by UpdatedAt, name, version
	position []byte   // of a mirror
}

// memServer has the versions of one server. Entries are replaced, never changed.
type memServer struct {
	versions []*Entry // sorted by version
	latest   *Entry
	bytes    int64 // of manifests
}

// entryOverhead is the size of an entry besides its texts.
const entryOverhead = 400

// sizeOf returns roughly how many bytes an entry takes.
func sizeOf(e *Entry) int64 { return int64(len(e.Server)+2*len(e.Name)+len(e.Version)) + entryOverhead }

// NewMemStore returns an empty store. opts may be nil.
func NewMemStore(opts *MemOptions) *MemStore {
	o := *cmp.Or(opts, &MemOptions{})
	return &MemStore{max: cmp.Or(o.MaxBytes, 1<<30), servers: map[string]*memServer{}}
}

// Get implements [Reader].
func (m *MemStore) Get(_ context.Context, name, version string) (*Entry, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	s := m.servers[name]
	if s == nil {
		return nil, ErrNotFound
	}
	e := s.latest
	if version != latest {
		at, found := s.find(version)
		if !found {
			return nil, ErrNotFound
		}
		e = s.versions[at]
	}
	found := *e
	return &found, nil
}

func (s *memServer) find(version string) (at int, found bool) {
	return slices.BinarySearchFunc(s.versions, version, func(e *Entry, v string) int { return strings.Compare(e.Version, v) })
}

// Versions implements [Reader].
func (m *MemStore) Versions(_ context.Context, name string) ([]Entry, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	s := m.servers[name]
	if s == nil {
		return nil, nil
	}
	all := make([]Entry, len(s.versions))
	for i, e := range s.versions {
		all[i] = *e
	}
	newestFirst(all)
	return all, nil
}

// newestFirst sorts the versions of a server.
func newestFirst(all []Entry) {
	slices.SortFunc(all, func(a, b Entry) int {
		return cmp.Or(b.State.PublishedAt.Compare(a.State.PublishedAt), strings.Compare(a.Version, b.Version))
	})
}

// List implements [Reader].
func (m *MemStore) List(ctx context.Context, q *Query) ([]Entry, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	page := &memPage{q: q, search: Fold(q.Search)}
	if q.ByTime() {
		m.listByTime(ctx, page)
	} else {
		m.listByName(ctx, page)
	}
	return page.found, ctx.Err()
}

// memPage collects the entries of a page.
type memPage struct {
	q      *Query
	search string
	found  []Entry
	bytes  int
}

// add adds an entry if the query selects it, and reports whether there is room for more.
func (p *memPage) add(e *Entry) bool {
	if p.q.selects(e.Version, &e.State) {
		p.found = append(p.found, *e)
		p.bytes += len(e.Server)
	}
	return len(p.found) < p.q.Limit && p.bytes < MaxPageBytes
}

// interrupted reports after every 1024 calls whether the context has ended.
func interrupted(ctx context.Context, n int) bool { return n%1024 == 1023 && ctx.Err() != nil }

func (m *MemStore) listByName(ctx context.Context, p *memPage) {
	at, after := 0, p.q.After
	if after != nil {
		at, _ = slices.BinarySearch(m.names, after.Name)
	}
	for n, text := range m.texts[at:] {
		if interrupted(ctx, n) {
			return
		}
		if !strings.Contains(text, p.search) {
			continue
		}
		name, from := m.names[at+n], 0
		s := m.servers[name]
		if after != nil && name == after.Name {
			var found bool
			if from, found = s.find(after.Version); found {
				from++
			}
		}
		if p.q.Version == latest {
			if s.latest != nil && (from == 0 || s.latest.Version > after.Version) && !p.add(s.latest) {
				return
			}
			continue
		}
		for _, e := range s.versions[from:] {
			if !p.add(e) {
				return
			}
		}
	}
}

func (m *MemStore) listByTime(ctx context.Context, p *memPage) {
	from := Entry{State: State{UpdatedAt: p.q.UpdatedSince}}
	if a := p.q.After; a != nil && a.Updated.Compare(from.State.UpdatedAt) >= 0 {
		from = Entry{Name: a.Name, Version: a.Version, State: State{UpdatedAt: a.Updated}}
	}
	at, found := slices.BinarySearchFunc(m.byTime, &from, compareTime)
	if found {
		at++
	}
	for n, e := range m.byTime[at:] {
		if interrupted(ctx, n) || m.found(e.Name, p.search) && !p.add(e) {
			return
		}
	}
}

// found reports whether a search finds a server.
func (m *MemStore) found(name, search string) bool {
	if search == "" {
		return true
	}
	at, _ := slices.BinarySearch(m.names, name)
	return strings.Contains(m.texts[at], search)
}

func compareTime(a, b *Entry) int {
	return cmp.Or(a.State.UpdatedAt.Compare(b.State.UpdatedAt), strings.Compare(a.Name, b.Name), strings.Compare(a.Version, b.Version))
}

// Publish implements [Store].
func (m *MemStore) Publish(ctx context.Context, e *Entry, limits Limits) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.servers[e.Name]; s != nil {
		if _, exists := s.find(e.Version); exists {
			return ErrExists
		}
		if !limits.Allow(len(s.versions), s.bytes, e) {
			return ErrTooMany
		}
	}
	if err := m.put(e); err != nil {
		return err
	}
	m.rank(e.Name)
	e.State.IsLatest = m.servers[e.Name].latest.Version == e.Version
	return nil
}

// put adds or replaces an entry. The caller calls rank.
func (m *MemStore) put(e *Entry) error {
	size := sizeOf(e)
	s := m.servers[e.Name]
	if s != nil {
		if at, exists := s.find(e.Version); exists {
			size -= sizeOf(s.versions[at])
		}
	}
	if m.used+size > m.max {
		return ErrFull
	}
	m.used += size
	if s == nil {
		s = &memServer{}
		m.servers[e.Name] = s
		at, _ := slices.BinarySearch(m.names, e.Name)
		m.names, m.texts = slices.Insert(m.names, at, e.Name), slices.Insert(m.texts, at, "")
	}
	s.bytes += int64(len(e.Server))
	kept := *e
	at, exists := s.find(e.Version)
	if exists {
		s.bytes -= int64(len(s.versions[at].Server))
		if i, found := slices.BinarySearchFunc(m.byTime, s.versions[at], compareTime); found {
			m.byTime = slices.Delete(m.byTime, i, i+1)
		}
		s.versions[at] = &kept
	} else {
		s.versions = slices.Insert(s.versions, at, &kept)
	}
	at, _ = slices.BinarySearchFunc(m.byTime, &kept, compareTime)
	m.byTime = slices.Insert(m.byTime, at, &kept)
	return nil
}

// rank finds the latest version of a server.
func (m *MemStore) rank(name string) {
	s := m.servers[name]
	versions := make([]Ranked, len(s.versions))
	for i, e := range s.versions {
		versions[i] = Ranked{e.Version, e.State.PublishedAt, e.State.Status == Deleted}
	}
	best := Latest(versions)
	for i, e := range s.versions {
		if e.State.IsLatest != (i == best) {
			changed := *e
			changed.State.IsLatest = i == best
			s.versions[i] = &changed
			if at, found := slices.BinarySearchFunc(m.byTime, &changed, compareTime); found {
				m.byTime[at] = &changed
			}
		}
	}
	s.latest = s.versions[best]
	at, _ := slices.BinarySearch(m.names, name)
	m.texts[at] = Fold(s.latest.Text())
}

// SetStatus implements [Store].
func (m *MemStore) SetStatus(ctx context.Context, name, version string, c *Change) ([]Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.servers[name]
	if s == nil {
		return nil, ErrNotFound
	}
	var changed []string
	known := false
	for _, e := range slices.Clone(s.versions) {
		if version != "" && version != e.Version {
			continue
		}
		known = true
		after := *e
		var differs bool
		if after.State, differs = c.Apply(e.State); !differs {
			continue
		}
		if err := m.put(&after); err != nil {
			return nil, err
		}
		changed = append(changed, e.Version)
	}
	switch {
	case !known:
		return nil, ErrNotFound
	case len(changed) == 0:
		return nil, ErrUnchanged
	}
	m.rank(name)
	all := make([]Entry, len(changed))
	for i, v := range changed {
		at, _ := s.find(v)
		all[i] = *s.versions[at]
	}
	newestFirst(all)
	return all, nil
}

// Mirrored adds or replaces entries from another registry, and keeps the position of the mirror there, in
// one change. Which version of a server is the latest is decided anew.
func (m *MemStore) Mirrored(ctx context.Context, entries []Entry, position []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var total int64
	for i := range entries {
		total += sizeOf(&entries[i])
	}
	if m.used+total > m.max {
		return ErrFull
	}
	names := map[string]bool{}
	for i := range entries {
		if err := m.put(&entries[i]); err != nil {
			return err
		}
		names[entries[i].Name] = true
	}
	for name := range names {
		m.rank(name)
	}
	m.position = slices.Clone(position)
	return nil
}

// MirrorPosition returns the position that Mirrored kept last, or nil.
func (m *MemStore) MirrorPosition(context.Context) ([]byte, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return slices.Clone(m.position), nil
}
