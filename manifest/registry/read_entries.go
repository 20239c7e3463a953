package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ReadEntries reads JSON values one after the other: manifests, responses of a registry with one server or with a
// page of them, or lines of any of these. It returns how many have no name or version and are left out.
func ReadEntries(r io.Reader) (entries []Entry, unreadable int, err error) {
	for d := json.NewDecoder(r); ; {
		var value json.RawMessage
		if err := d.Decode(&value); errors.Is(err, io.EOF) {
			return entries, unreadable, nil
		} else if err != nil {
			return entries, unreadable, fmt.Errorf("value %d is not JSON: %w", len(entries)+unreadable+1, err)
		}
		var page struct{ Servers []json.RawMessage }
		if json.Unmarshal(value, &page) != nil || page.Servers == nil {
			page.Servers = []json.RawMessage{value}
		}
		for _, v := range page.Servers {
			e, err := readEntry(v)
			if err != nil {
				unreadable++
				continue
			}
			entries = append(entries, *e)
		}
	}
}

// readEntry reads a response with one server, or a manifest.
func readEntry(value json.RawMessage) (*Entry, error) {
	var response struct{ Server json.RawMessage }
	if json.Unmarshal(value, &response) == nil && response.Server != nil {
		e := &Entry{}
		return e, json.Unmarshal(value, e)
	}
	return NewEntry(value)
}
