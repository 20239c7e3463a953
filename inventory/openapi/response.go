package openapi

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// answers are the responses of a route, the good ones first.
func (b *builder) answers(op *Operation) (ordered, error) {
	var all ordered
	for _, a := range op.Answers {
		out, err := b.answer(a)
		if err != nil {
			return nil, err
		}
		all = append(all, entry{strconv.Itoa(a.Status), out})
	}
	for _, status := range op.errors() {
		ref, err := b.failure(status)
		if err != nil {
			return nil, err
		}
		all = append(all, entry{strconv.Itoa(status), ref})
	}
	return all, nil
}

func (b *builder) answer(a Answer) (ordered, error) {
	headers, err := b.allHeaders(a.Headers)
	if err != nil {
		return nil, err
	}
	out := ordered{{"description", orDefault(a.Description, http.StatusText(a.Status))}, {"headers", headers}}
	if a.Schema != nil || a.ContentType != "" {
		out = append(out, entry{"content", content(a.ContentType, a.Schema)})
	}
	if a.Schema == nil {
		return out, nil
	}
	return out, b.use(a.Schema)
}

// failure is a reference to the answer of an error.
func (b *builder) failure(status int) (reference, error) {
	name := strings.ReplaceAll(http.StatusText(status), " ", "")
	ref := reference("responses/" + name)
	if _, known := b.responses.known[name]; known {
		return ref, nil // they are all made here
	}
	headers, err := b.allHeaders(further(status))
	if err != nil {
		return "", err
	}
	for _, s := range []*Schema{Failure(), problem()} {
		if err := b.use(s); err != nil {
			return "", err
		}
	}
	bodies := append(content("", Failure()), content("application/problem+json", problem())...)
	return ref, b.responses.add(name, ordered{
		{"description", http.StatusText(status)}, {"headers", headers}, {"content", bodies},
	})
}

// allHeaders are references to the headers of an answer.
func (b *builder) allHeaders(more []Header) (ordered, error) {
	var all ordered
	for _, h := range append(slices.Clip(more), everywhere()...) {
		if err := b.use(h.Schema); err != nil {
			return nil, err
		}
		err := b.headers.add(h.Name, ordered{{"description", h.Description}, {"schema", h.Schema}})
		if err != nil {
			return nil, err
		}
		all = append(all, entry{h.Name, reference("headers/" + h.Name)})
	}
	return all, nil
}
