package openapi

import (
	"errors"
	"slices"
)

// Info is what the document says of the API as a whole.
type Info struct {
	Title, Version string // required
	Description    string
	// Server is where the API is: an address, or a path relative to that of the document.
	// Default: ".", the place that the document is in.
	Server string
}

// Document is the OpenAPI document of these operations, in JSON without white space. It
// is the same for the same input. The error says what is wrong with an operation, and
// names it: an id or a path that is there twice, a parameter of a path that is not part of
// it, different schemas of one name.
func Document(info Info, ops []Operation) ([]byte, error) {
	if info.Title == "" || info.Version == "" {
		return nil, errors.New("openapi: the document needs a title and a version")
	}
	b := &builder{}
	if err := check(ops); err != nil {
		return nil, err
	}
	routes, err := b.paths(ops)
	if err != nil {
		return nil, err
	}
	return appendJSON(nil, ordered{
		{"openapi", "3.1.0"},
		{"info", about(info)},
		{"servers", []ordered{{{"url", orDefault(info.Server, ".")}}}},
		{"security", []ordered{{{"bearer", []string{}}}, {{"cookie", []string{}}}}},
		{"tags", tags(ops)},
		{"paths", routes},
		{"components", b.components()},
	})
}

func about(info Info) ordered {
	return ordered{{"title", info.Title}, {"version", info.Version}}.
		with("description", info.Description, info.Description != "")
}

func orDefault(s, byDefault string) string {
	if s == "" {
		return byDefault
	}
	return s
}

func tags(ops []Operation) []ordered {
	seen := []string{}
	all := []ordered{}
	for _, op := range ops {
		if !slices.Contains(seen, op.Tag) {
			seen = append(seen, op.Tag)
			all = append(all, ordered{{"name", op.Tag}})
		}
	}
	return all
}
