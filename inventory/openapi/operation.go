package openapi

import (
	"net/http"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/inventory"
)

// Operation is one route of the API, as far as the document tells of it.
type Operation struct {
	Method, Path string // "PATCH", "/devices/{id}"
	ID           string // the operationId: "patchDevice"; no two have the same
	Tag, Summary string
	Access       string // who may, in one sentence
	Public       bool   // needs no token

	// Parameters are those beyond the path's and those of List. A parameter of the path is
	// the id of a record if it is called "id", and a text if not, unless it is here.
	Parameters []Parameter
	// List is set if the route takes the query of a list of these.
	List *inventory.Resource
	Body *Body // nil takes none

	// Answers are the good ones; there is one at least.
	Answers []Answer
	// Errors are the statuses that the route may answer with beyond those of every route
	// of its kind: 400, 403, 429, 500 and 503; 401 unless it is Public; 404 if its path has
	// a parameter; 413 and 415 if it takes a body.
	Errors []int
}

// Body is what a request has.
type Body struct {
	Schema      *Schema // required
	Description string
	Optional    bool
	ContentType string // default: application/json
}

// errors are the statuses of all errors of a route, in order.
func (op *Operation) errors() []int {
	all := append([]int{
		http.StatusBadRequest, http.StatusForbidden, http.StatusTooManyRequests,
		http.StatusInternalServerError, http.StatusServiceUnavailable,
	}, op.Errors...)
	if !op.Public {
		all = append(all, http.StatusUnauthorized)
	}
	if strings.Contains(op.Path, "{") {
		all = append(all, http.StatusNotFound)
	}
	if op.Body != nil {
		all = append(all, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// wildcards are the names of the parameters of a path.
func wildcards(path string) []string {
	var names []string
	for part := range strings.SplitSeq(path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			names = append(names, strings.TrimSuffix(name, "}"))
		}
	}
	return names
}

// parameters are all of a route, without those of its list.
func (op *Operation) parameters() []Parameter {
	var all []Parameter
	for _, name := range wildcards(op.Path) {
		said := func(p Parameter) bool { return p.In == "path" && p.Name == name }
		if slices.ContainsFunc(op.Parameters, said) {
			continue
		}
		p := Parameter{Name: name, In: "path", Schema: Bounded("", 1, 500)}
		if name == "id" {
			p.Schema = ID("")
		}
		all = append(all, p)
	}
	return append(all, op.Parameters...)
}

// paths are the routes by their paths, in the order in which these come first.
func paths(ops []Operation) [][]Operation {
	var all [][]Operation
	for _, op := range ops {
		i := slices.IndexFunc(all, func(group []Operation) bool { return group[0].Path == op.Path })
		if i < 0 {
			all = append(all, []Operation{op})
			continue
		}
		all[i] = append(all[i], op)
	}
	return all
}
