package openapi

import (
	"bytes"
	"encoding/json"
)

// reference is a $ref.
type reference string

// ordered is a JSON object whose members stand in a given order.
type ordered []entry

type entry struct {
	key   string
	value any
}

// with has one more member, if it is there.
func (o ordered) with(key string, value any, there bool) ordered {
	if !there {
		return o
	}
	return append(o, entry{key, value})
}

// appendJSON appends a value to a document. It goes through the parts of the document
// itself: methods MarshalJSON within each other would read again, at each level,
// what those below have written.
func appendJSON(b []byte, value any) ([]byte, error) {
	switch v := value.(type) {
	case ordered:
		return appendObject(b, v)
	case []ordered:
		return appendArray(b, v)
	case *Schema:
		if v.Name != "" {
			return appendJSON(b, reference("schemas/"+v.Name))
		}
		return appendObject(b, v.body())
	case []any:
		return appendArray(b, v)
	case []*Schema:
		return appendArray(b, v)
	case []Property:
		members := make(ordered, len(v))
		for i, p := range v {
			members[i] = entry{p.Name, p.Schema}
		}
		return appendObject(b, members)
	case Types:
		if len(v) == 1 {
			return appendJSON(b, v[0])
		}
		return appendArray(b, v)
	case reference:
		return appendObject(b, ordered{{"$ref", "#/components/" + string(v)}})
	case json.RawMessage:
		return append(b, v...), nil
	case string:
		return appendText(b, v)
	}
	return appendPlain(b, value)
}

func appendObject(b []byte, members ordered) ([]byte, error) {
	b = append(b, '{')
	for i, m := range members {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendText(b, m.key); err != nil {
			return nil, err
		}
		if b, err = appendJSON(append(b, ':'), m.value); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

func appendArray[T any](b []byte, elements []T) ([]byte, error) {
	b = append(b, '[')
	for i, e := range elements {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendJSON(b, e); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

// appendText appends a text, which needs nothing but quotes nearly always.
func appendText(b []byte, s string) ([]byte, error) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return appendPlain(b, s)
		}
	}
	return append(append(append(b, '"'), s...), '"'), nil
}

// appendPlain appends what is no part of the document's own. It leaves &, < and > as they
// are: the document is served as JSON.
func appendPlain(b []byte, value any) ([]byte, error) {
	out := bytes.NewBuffer(b)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}
