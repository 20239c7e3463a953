package openapi

import (
	"encoding/json"
	"fmt"
)

// builder collects the components that routes refer to.
type builder struct {
	schemas, parameters, responses, headers section
}

// section is the components of one kind.
type section struct {
	members ordered
	known   map[string]json.RawMessage
}

// add makes a component, once. Another of the same name must be the same.
func (s *section) add(name string, value any) error {
	doc, err := appendJSON(nil, value)
	if err != nil {
		return err
	}
	there, known := s.known[name]
	switch {
	case known && string(there) != string(doc):
		return fmt.Errorf("there are two different components with the name %s", name)
	case known:
		return nil
	case s.known == nil:
		s.known = map[string]json.RawMessage{}
	}
	s.known[name] = doc
	s.members = append(s.members, entry{name, json.RawMessage(doc)})
	return nil
}

// use makes components of a schema and of all that it is made of.
func (b *builder) use(s *Schema) error {
	if s == nil {
		return nil
	}
	if s.Name != "" {
		if err := b.schemas.add(s.Name, s.body()); err != nil {
			return err
		}
	}
	for _, part := range s.parts() {
		if err := b.use(part); err != nil {
			return err
		}
	}
	return nil
}

// components are what routes refer to.
func (b *builder) components() ordered {
	return ordered{
		{"schemas", b.schemas.members},
		{"parameters", b.parameters.members},
		{"responses", b.responses.members},
		{"headers", b.headers.members},
		{"securitySchemes", ordered{
			{"bearer", ordered{{"type", "http"}, {"scheme", "bearer"}, {"bearerFormat", "JWT"}}},
			{"cookie", ordered{{"type", "apiKey"}, {"in", "cookie"}, {"name", "Bearer"}}},
		}},
	}
}
