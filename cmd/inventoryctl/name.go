package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"strings"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// parentOf returns the reference within which the names of a resource are unique, such as that of
// interfaces to devices; nil if there is none.
func parentOf(r *records.Resource) *records.Field {
	for _, key := range r.Keys {
		for _, name := range key {
			if f, _ := r.Field(name); f.Ref != nil && len(key) > 1 {
				return f
			}
		}
	}
	return nil
}

// find returns the id of the record that a name means: NAME, NAME@PARENT, or DEVICE:NAME for what belongs
// to a device.
func (c *client) find(r *records.Resource, name string) (string, error) {
	if records.ValidID(name) {
		return name, nil
	}
	own, query := name, url.Values{}
	if parent := parentOf(r); parent != nil {
		of, rest, ok := "", name, false
		if parent.Required {
			of, rest, ok = strings.Cut(name, ":")
		} else if i := strings.LastIndexByte(name, '@'); i >= 0 {
			rest, of, ok = name[:i], name[i+1:], true
		}
		if parent.Required && !ok {
			return "", cli.Usagef("%q is no name of one of %s: use DEVICE:NAME, such as sw1:eth0, or an id", name, r.Name)
		}
		if own = rest; ok {
			id, err := c.find(parent.Ref.Resource(), of)
			if err != nil {
				return "", err
			}
			query.Set(parent.Name, id)
		}
	}
	keys := r.ShortKeys()
	if len(keys) == 0 {
		return "", cli.Usagef("%s have no names: use the id of one", r.Name)
	}
	for _, key := range keys {
		query := maps.Clone(query)
		query.Set(key.Name, own)
		ids, err := c.column(r, query, "id", 2)
		switch {
		case err != nil && key.Kind != records.Text: // the name is no number
		case err != nil:
			return "", err
		case len(ids) == 1:
			return ids[0], nil
		case len(ids) > 1:
			return "", fmt.Errorf("several of %s have the %s %q: add what tells them apart, as in %s@PARENT, or use an id", r.Name, key.Name, own, own)
		}
	}
	return "", fmt.Errorf("there is no %s %q", r.Noun(), name)
}

// value returns the text of a field as JSON for a body. Texts are JSON strings; "" is null.
func value(r *records.Resource, name, text string) (json.RawMessage, error) {
	_, member := r.ByMember(name)
	f, ok := r.Field(name)
	if !ok && !member {
		return nil, cli.Usagef("%s have no field %q: use one of %s", r.Name, name, strings.Join(settable(r), ", "))
	}
	var v any = text // also a time, or what the server refuses
	switch {
	case !member && f.Kind == records.List:
		values := []string{}
		for part := range strings.SplitSeq(text, ",") {
			if part = strings.TrimSpace(part); part != "" {
				values = append(values, part)
			}
		}
		v = values
	case text == "" && (member || f.Kind != records.Text || f.Nullable):
		v = nil
	case json.Valid([]byte(text)) && (member && text[0] == '{' || !member && f.Kind != records.Text):
		v = json.RawMessage(text)
	}
	return json.Marshal(v)
}

// settable returns the names of the fields that a user can set, with those of references.
func settable(r *records.Resource) (names []string) {
	for _, f := range r.Fields() {
		switch {
		case f.ReadOnly || f.Hidden:
		case f.Member != "":
			names = append(names, f.Member)
		default:
			names = append(names, f.Name)
		}
	}
	return names
}

// values returns the body that arguments such as status=active say.
func values(r *records.Resource, args []string) (map[string]json.RawMessage, error) {
	body := map[string]json.RawMessage{}
	for _, arg := range args {
		name, text, ok := strings.Cut(arg, "=")
		if !ok {
			return nil, cli.Usagef("%q is no value: use FIELD=VALUE, such as status=active", arg)
		}
		doc, err := value(r, name, text)
		if err != nil {
			return nil, err
		}
		body[name] = doc
	}
	return body, nil
}
