package openapi

import (
	"fmt"
	"strings"
)

// paths are the routes.
func (b *builder) paths(ops []Operation) (ordered, error) {
	var all ordered
	for _, group := range paths(ops) {
		var methods ordered
		for i := range group {
			route, err := b.route(&group[i])
			if err != nil {
				return nil, fmt.Errorf("openapi: %s: %w", title(&group[i]), err)
			}
			methods = append(methods, entry{strings.ToLower(group[i].Method), route})
		}
		all = append(all, entry{group[0].Path, methods})
	}
	return all, nil
}

// title names an operation in errors.
func title(op *Operation) string { return op.Method + " " + op.Path }

// route is one operation.
func (b *builder) route(op *Operation) (ordered, error) {
	parameters, err := b.allParameters(op)
	if err != nil {
		return nil, err
	}
	out := ordered{{"tags", []string{op.Tag}}, {"summary", op.Summary}}.
		with("description", op.Access, op.Access != "").
		with("operationId", op.ID, true).
		with("security", []ordered{}, op.Public).
		with("parameters", parameters, len(parameters) > 0)
	if op.Body != nil {
		body, err := b.body(op.Body)
		if err != nil {
			return nil, err
		}
		out = append(out, entry{"requestBody", body})
	}
	responses, err := b.answers(op)
	return append(out, entry{"responses", responses}), err
}

// allParameters are those of a route. Those of lists are components.
func (b *builder) allParameters(op *Operation) ([]any, error) {
	var all []any
	for _, p := range op.parameters() {
		out, err := b.parameter(p)
		if err != nil {
			return nil, err
		}
		all = append(all, out)
	}
	if op.List == nil {
		return all, nil
	}
	for _, p := range listParameters(op.List) {
		out, err := b.parameter(p)
		if err != nil {
			return nil, err
		}
		name := op.List.Name() + "." + p.Name
		if err := b.parameters.add(name, out); err != nil {
			return nil, err
		}
		all = append(all, reference("parameters/"+name))
	}
	return all, nil
}

func (b *builder) parameter(p Parameter) (ordered, error) {
	in := orDefault(p.In, "query")
	return ordered{{"name", p.Name}, {"in", in}}.
		with("description", p.Description, p.Description != "").
		with("required", true, p.Required || in == "path").
		with("allowEmptyValue", true, p.empty).
		with("style", "form", p.commas).
		with("explode", false, p.commas).
		with("schema", p.Schema, true), b.use(p.Schema)
}

func (b *builder) body(body *Body) (ordered, error) {
	return ordered{}.
		with("description", body.Description, body.Description != "").
		with("required", !body.Optional, true).
		with("content", content(body.ContentType, body.Schema), true), b.use(body.Schema)
}

// content is a body of one type.
func content(contentType string, s *Schema) ordered {
	media := ordered{}
	if s != nil {
		media = ordered{{"schema", s}}
	}
	return ordered{{orDefault(contentType, "application/json"), media}}
}
