package openapi

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// check says what is wrong with the operations, all of it.
func check(ops []Operation) error {
	var wrong []error
	ids, places := map[string]bool{}, map[string]bool{}
	c := &checker{patterns: map[string]error{}}
	for i := range ops {
		op := &ops[i]
		refuse := func(format string, args ...any) {
			wrong = append(wrong, fmt.Errorf("openapi: %s: %w", title(op), fmt.Errorf(format, args...)))
		}
		if ids[op.ID] {
			refuse("another operation has the id %q", op.ID)
		}
		if place := place(op); places[place] {
			refuse("another operation has this method and path")
		} else {
			places[place] = true
		}
		ids[op.ID] = true
		c.operation(op, refuse)
	}
	return errors.Join(wrong...)
}

var saneRoute = regexp.MustCompile(`^(/|(/([A-Za-z0-9._~-]+|\{[a-z_]+\}))+)$`)

// place is the method and the path whatever its parameters are called.
func place(op *Operation) string {
	parts := strings.Split(op.Path, "/")
	for i, part := range parts {
		if strings.HasPrefix(part, "{") {
			parts[i] = "{}"
		}
	}
	return op.Method + " " + strings.Join(parts, "/")
}

// checker remembers the patterns that it has seen: there are few, in many places.
type checker struct{ patterns map[string]error }

// operation says what is wrong with one operation.
func (c *checker) operation(op *Operation, refuse func(format string, args ...any)) {
	methods := []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodHead}
	switch {
	case !slices.Contains(methods, op.Method):
		refuse("the method must be one of %s", strings.Join(methods, ", "))
	case !saneRoute.MatchString(op.Path):
		refuse("the path must be like /devices/{id}")
	case op.ID == "" || op.Tag == "" || op.Summary == "":
		refuse("it needs an id, a tag and a summary")
	case len(op.Answers) == 0:
		refuse("it needs an answer")
	}
	if op.Body != nil && op.Body.Schema == nil {
		refuse("its body has no schema")
	}
	op.checkParameters(refuse)
	op.checkStatuses(refuse)
	for _, s := range op.schemas() {
		if err := c.sound(s, 0); err != nil {
			refuse("%w", err)
		}
	}
}

func (op *Operation) checkParameters(refuse func(format string, args ...any)) {
	names := wildcards(op.Path)
	all := op.parameters()
	if op.List != nil {
		all = append(all, listParameters(op.List)...)
	}
	var seen []string
	for _, p := range all {
		in := orDefault(p.In, "query")
		switch key := in + " " + p.Name; {
		case p.Name == "" || p.Schema == nil:
			refuse("parameter %q needs a name and a schema", p.Name)
		case !slices.Contains([]string{"query", "header", "path"}, in):
			refuse("parameter %q is in %q, which must be query, header or path", p.Name, in)
		case slices.Contains(seen, key):
			refuse("parameter %q is there twice", p.Name)
		case in == "path" && !slices.Contains(names, p.Name):
			refuse("parameter %q is not in the path", p.Name)
		default:
			seen = append(seen, key)
		}
	}
}

func (op *Operation) checkStatuses(refuse func(format string, args ...any)) {
	var seen []int
	for _, a := range op.Answers {
		if a.Status < 200 || a.Status > 399 || slices.Contains(seen, a.Status) {
			refuse("answer %d must be from 200 to 399 and there once", a.Status)
		}
		seen = append(seen, a.Status)
	}
	for _, status := range op.Errors {
		if status < 400 || status > 599 || http.StatusText(status) == "" {
			refuse("error %d must be a status from 400 to 599", status)
		}
	}
}

// schemas are those that the operation brings.
func (op *Operation) schemas() []*Schema {
	var all []*Schema
	if op.Body != nil {
		all = append(all, op.Body.Schema)
	}
	for _, p := range op.Parameters {
		all = append(all, p.Schema)
	}
	for _, a := range op.Answers {
		all = append(all, a.Schema)
		for _, h := range a.Headers {
			all = append(all, h.Schema)
		}
	}
	return all
}

// maxDepth is how deep a schema may be: one that holds itself has no end.
const maxDepth = 32

// sound says what is wrong with a schema.
func (c *checker) sound(s *Schema, depth int) error {
	switch {
	case s == nil:
		return nil
	case depth > maxDepth:
		return fmt.Errorf("schema %q is more than %d levels deep, or holds itself", s.Name, maxDepth)
	case strings.Trim(s.Name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") != "":
		return fmt.Errorf("schema %q: a name has letters, digits, dots, underscores and hyphens", s.Name)
	}
	if err := c.compiles(s.Pattern); err != nil {
		return fmt.Errorf("schema %q: %w", s.Name, err)
	}
	for _, part := range s.parts() {
		if err := c.sound(part, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) compiles(pattern string) error {
	err, known := c.patterns[pattern]
	if !known {
		_, err = regexp.Compile(pattern)
		c.patterns[pattern] = err
	}
	return err
}
