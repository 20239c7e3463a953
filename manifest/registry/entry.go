package registry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ashlar-go/ashlar/internal/jsonpos"
)

// Status is the state of a version in its life.
type Status string

// The states. A deprecated version is listed with its message; a deleted one is listed on request only.
const (
	Active     Status = "active"
	Deprecated Status = "deprecated"
	Deleted    Status = "deleted"
)

// Entry is a version of a server in a registry.
type Entry struct {
	Name, Version string          // those of the manifest
	Server        json.RawMessage // the manifest; it must not be changed
	State         State
}

// State has the status and the times of a version in a registry. Times are UTC and have microseconds.
type State struct {
	Status          Status    `json:"status"`
	StatusMessage   string    `json:"statusMessage,omitempty"` // why it is deprecated or deleted
	StatusChangedAt time.Time `json:"statusChangedAt,omitzero"`
	PublishedAt     time.Time `json:"publishedAt,omitzero"`
	UpdatedAt       time.Time `json:"updatedAt,omitzero"`
	IsLatest        bool      `json:"isLatest"`
}

// Limits of what is accepted as an entry.
const (
	maxName    = 512 // bytes, also of a version
	maxMessage = 500 // characters of a status message
)

// document is the JSON form of an entry.
type document struct {
	Server json.RawMessage `json:"server"`
	Meta   struct {
		State *State `json:"io.modelcontextprotocol.registry/official,omitempty"`
	} `json:"_meta"`
}

// MarshalJSON returns {"server": manifest, "_meta": {"io.modelcontextprotocol.registry/official": state}}.
func (e Entry) MarshalJSON() ([]byte, error) {
	d := document{Server: e.Server}
	d.Meta.State = &e.State
	return jsonpos.AppendValue(nil, &d), nil // a manifest that is not JSON fails in package json
}

// UnmarshalJSON reads the form that MarshalJSON writes. It requires no valid manifest, but a name and a version.
// Without a state the entry is active. Other members of _meta are ignored.
func (e *Entry) UnmarshalJSON(data []byte) error {
	var d document
	if err := json.Unmarshal(data, &d); err != nil {
		return err
	}
	read, err := NewEntry(d.Server)
	if err != nil {
		return err
	}
	if d.Meta.State != nil {
		read.State = *d.Meta.State
	}
	read.State.normalize()
	*e = *read
	return nil
}

// NewEntry returns the active entry of a manifest, which need not be valid, but must have a name and a version.
func NewEntry(manifest []byte) (*Entry, error) {
	var key struct {
		Name    *string `json:"name"`
		Version *string `json:"version"`
	}
	if len(manifest) == 0 {
		return nil, errors.New("there is no server")
	}
	if err := json.Unmarshal(manifest, &key); err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	switch {
	case key.Name == nil || key.Version == nil:
		return nil, errors.New("server: name or version is missing")
	case *key.Name == "" || *key.Version == "" || len(*key.Name) > maxName || len(*key.Version) > maxName:
		return nil, fmt.Errorf("server: name and version must have 1 to %d bytes: they are %s and %s", maxName,
			jsonpos.Quote(*key.Name), jsonpos.Quote(*key.Version))
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, manifest); err != nil {
		return nil, err
	}
	return &Entry{Name: *key.Name, Version: *key.Version, Server: compact.Bytes(), State: State{Status: Active}}, nil
}

// Publish sets the state of an entry that was published at a time and has not changed since.
func (e *Entry) Publish(at time.Time) {
	at = at.UTC().Truncate(time.Microsecond)
	e.State = State{Status: Active, StatusChangedAt: at, PublishedAt: at, UpdatedAt: at}
}

// normalize makes times comparable and replaces an unknown status.
func (s *State) normalize() {
	for _, t := range []*time.Time{&s.StatusChangedAt, &s.PublishedAt, &s.UpdatedAt} {
		*t = t.UTC().Truncate(time.Microsecond)
	}
	if s.UpdatedAt.Before(s.PublishedAt) {
		s.UpdatedAt = s.PublishedAt
	}
	if !s.Status.valid() {
		s.Status = Active
	}
}

func (s Status) valid() bool { return s == Active || s == Deprecated || s == Deleted }

// Text returns what is searched of an entry: name, title and description.
func (e *Entry) Text() string {
	var read struct{ Title, Description any }
	if json.Unmarshal(e.Server, &read) != nil { // another type at these keys is not searched
		return e.Name
	}
	text := e.Name
	for _, part := range []any{read.Title, read.Description} {
		if s, ok := part.(string); ok {
			text += "\n" + s
		}
	}
	return text
}

// Page is a part of a list.
type Page struct {
	Servers  []Entry  `json:"servers"` // never null
	Metadata Metadata `json:"metadata"`
}

// Metadata is the position of a page.
type Metadata struct {
	NextCursor string `json:"nextCursor,omitempty"` // empty after the last page
	Count      int    `json:"count"`
}
