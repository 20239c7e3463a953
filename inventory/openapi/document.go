package openapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// Info describes the API as a whole.
type Info struct {
	Title       string `json:"title"`   // required
	Version     string `json:"version"` // required
	Description string `json:"description,omitempty"`
	// Server is the address of the API: a URL, or a path relative to that of the document.
	// Default: ".", the directory of the document.
	Server string `json:"-"`
	// License of the API, or nil.
	License *License `json:"license,omitempty"`
	// Tags has a sentence about each tag of the operations that needs one.
	Tags map[string]string `json:"-"`
}

// License names a license.
type License struct {
	Name       string `json:"name"`
	Identifier string `json:"identifier,omitempty"` // of the SPDX list
}

// Operation describes one route of the API.
type Operation struct {
	Method, Path string // "PATCH", "/devices/{id}"
	ID           string // the operationId, unique in the document: "changeDevice"
	Tag, Summary string
	Access       string // who may call it, in one sentence
	Public       bool   // needs no token

	// Parameters are those beyond the ones of the path and of List. A path parameter is the
	// id of a record if its name is "id", and any string otherwise.
	Parameters []Parameter
	// List is the resource whose list query the route takes, or nil.
	List *records.Resource
	// Filters is the resource whose filters and search the route takes, without pages, order and fields,
	// or nil. A filter with the name of one of Parameters is left out.
	Filters *records.Resource
	// AnyQuery says that the route ignores unknown query parameters.
	AnyQuery bool
	Body     *Schema // of the JSON body; nil if the route takes none
	// OptionalBody says that a request may have no body.
	OptionalBody bool
	// BodyTypes are the content types of the body. Default: application/json.
	BodyTypes []string

	// Responses are the successful ones, at least one. Several of one status have the headers of the
	// last one and different content types.
	Responses []Response
	// Errors are the error statuses beyond those that every route of its kind has: 400, 403,
	// 421, 429, 500 and 503; 507 unless the method is GET; 401 unless the route is Public; 404
	// if its path has a parameter; 408, 413 and 415 if it takes a body.
	Errors []int
}

// Response describes a successful response.
type Response struct {
	Status  int     // 200 to 399
	Schema  *Schema // of the body; nil if there is none
	Headers []Header
	// ContentType is that of the body. Default: application/json.
	ContentType string
}

// Header describes a header of a response.
type Header struct {
	Name        string  `json:"-"`
	Description string  `json:"description"`
	Schema      *Schema `json:"schema"`
}

// ETag is the header with the version of the record.
func ETag() Header {
	return Header{"ETag", "The version of the record, for If-Match and If-None-Match.", String("")}
}

// Location is the header with the path of a new record, or of a redirect.
func Location() Header {
	return Header{"Location", "The path of the new record, or the URL of a redirect.", String("")}
}

// SetCookie is the header that sets or clears the cookie with the token.
func SetCookie() Header {
	return Header{"Set-Cookie", "Sets the cookie Bearer, which holds the token, or clears it.", String("")}
}

// The objects of an OpenAPI 3.1 document, with the members that are used here.
type (
	document struct {
		OpenAPI    string                           `json:"openapi"`
		Info       Info                             `json:"info"`
		Servers    []map[string]string              `json:"servers"`
		Security   []requirement                    `json:"security"`
		Tags       []tag                            `json:"tags"`
		Paths      map[string]map[string]*operation `json:"paths"` // by method, in lower case
		Components components                       `json:"components"`

		conflicts []error // components of one name that differ
	}
	requirement map[string][]string
	tag         struct {
		Name        string `json:"name"`
		Description string `json:"description,omitempty"`
	}
	operation struct {
		Tags        []string       `json:"tags"`
		Summary     string         `json:"summary"`
		Description string         `json:"description,omitempty"`
		OperationID string         `json:"operationId"`
		Security    []requirement  `json:"security,omitzero"` // empty for a public route
		Parameters  []any          `json:"parameters,omitempty"`
		RequestBody *requestBody   `json:"requestBody,omitempty"`
		Responses   map[string]any `json:"responses"`
	}
	requestBody struct {
		Required bool    `json:"required"`
		Content  content `json:"content"`
	}
	response struct {
		Description string               `json:"description"`
		Headers     map[string]reference `json:"headers,omitempty"`
		Content     content              `json:"content,omitempty"`
	}
	content   map[string]mediaType
	mediaType struct {
		Schema *Schema `json:"schema"`
	}
	components struct {
		Schemas         map[string]*component        `json:"schemas"`
		Parameters      map[string]Parameter         `json:"parameters"`
		Responses       map[string]response          `json:"responses"`
		Headers         map[string]Header            `json:"headers"`
		SecuritySchemes map[string]map[string]string `json:"securitySchemes"`
	}
	reference struct {
		Ref         string `json:"$ref"`
		Description string `json:"description,omitempty"` // in place of that of the component
	}
)

// Document returns the OpenAPI document of the operations as JSON without white space, the
// same bytes for the same input. The error names components that have the same name and
// differ, or an operation with an unknown method.
func Document(info Info, ops []Operation) ([]byte, error) {
	d := &document{
		OpenAPI: "3.1.0", Info: info, Servers: []map[string]string{{"url": cmp.Or(info.Server, ".")}},
		Security: []requirement{{"bearer": {}}, {"cookie": {}}}, Paths: map[string]map[string]*operation{},
		Components: components{
			Schemas: map[string]*component{}, Parameters: map[string]Parameter{},
			Responses: map[string]response{}, Headers: map[string]Header{},
			SecuritySchemes: map[string]map[string]string{
				"bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
				"cookie": {"type": "apiKey", "in": "cookie", "name": "Bearer"},
			},
		},
	}
	for i := range ops {
		if err := d.add(&ops[i]); err != nil {
			return nil, err
		}
	}
	if len(d.conflicts) > 0 {
		return nil, errors.Join(d.conflicts...)
	}
	return json.Marshal(d)
}

// add adds an operation to its path.
func (d *document) add(op *Operation) error {
	if t := (tag{op.Tag, d.Info.Tags[op.Tag]}); !slices.Contains(d.Tags, t) {
		d.Tags = append(d.Tags, t)
	}
	if d.Paths[op.Path] == nil {
		d.Paths[op.Path] = map[string]*operation{}
	}
	method := strings.ToLower(op.Method)
	if !slices.Contains([]string{"GET", "POST", "PUT", "PATCH", "DELETE"}, op.Method) || d.Paths[op.Path][method] != nil {
		return fmt.Errorf("openapi: %s %s: unknown method, or a duplicate operation", op.Method, op.Path)
	}
	d.Paths[op.Path][method] = d.operation(op)
	return nil
}

func (d *document) operation(op *Operation) *operation {
	out := &operation{
		Tags: []string{op.Tag}, Summary: op.Summary, Description: op.Access, OperationID: op.ID,
		Responses: map[string]any{},
	}
	if op.Public {
		out.Security = []requirement{}
	}
	for _, p := range append(pathParameters(op.Path), op.Parameters...) {
		out.Parameters = append(out.Parameters, d.parameter(p))
	}
	queried := func(r *records.Resource, all []Parameter) {
		for _, p := range all {
			if p.Name == filterName && p.Schema.Name == "" { // of this operation
				out.Parameters = append(out.Parameters, d.parameter(p))
				continue
			}
			out.Parameters = append(out.Parameters, define(d, "parameters", d.Components.Parameters, r.Name+"."+p.Name, d.parameter(p)))
		}
	}
	if op.List != nil {
		queried(op.List, listParameters(op.List))
	}
	if op.Filters != nil {
		queried(op.Filters, append([]Parameter{search()}, filters(op.Filters, op.Parameters...)...))
	}
	if op.Body != nil {
		out.RequestBody = &requestBody{Required: !op.OptionalBody, Content: content{}}
		types := op.BodyTypes
		if len(types) == 0 {
			types = []string{"application/json"}
		}
		for _, name := range types {
			out.RequestBody.Content[name] = mediaType{d.schema(op.Body)}
		}
	}
	for _, r := range op.Responses {
		body := content(nil)
		if r.Schema != nil {
			body = content{cmp.Or(r.ContentType, "application/json"): {d.schema(r.Schema)}}
		}
		if other, ok := out.Responses[strconv.Itoa(r.Status)].(response); ok {
			maps.Copy(body, other.Content)
		}
		out.Responses[strconv.Itoa(r.Status)] = response{http.StatusText(r.Status), d.headers(r.Headers), body}
	}
	failed := d.failure()
	for _, status := range op.errors() {
		failed.Description += strconv.Itoa(status) + " " + http.StatusText(status) + ". "
	}
	out.Responses["default"] = failed
	return out
}

// errors are the statuses of all errors of the operation.
func (op *Operation) errors() []int {
	all := append([]int{400, 403, 421, 429, 500, 503}, op.Errors...)
	if op.Method != http.MethodGet {
		all = append(all, http.StatusInsufficientStorage)
	}
	if !op.Public {
		all = append(all, http.StatusUnauthorized)
	}
	if strings.Contains(op.Path, "{") {
		all = append(all, http.StatusNotFound)
	}
	if op.Body != nil {
		all = append(all, http.StatusRequestTimeout, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// failure defines the response with an error.
func (d *document) failure() reference {
	const text = "An error: code says which. 429, 503 and 507 have the header Retry-After, with seconds. A client that accepts application/problem+json gets the form of RFC 9457."
	return define(d, "responses", d.Components.Responses, "Failure", response{Description: text, Content: content{"application/json": {d.schema(errorBody())}}})
}

func (d *document) parameter(p Parameter) Parameter {
	p.In = cmp.Or(p.In, "query")
	p.Schema = d.schema(p.Schema)
	return p
}

// headers defines the headers of a response.
func (d *document) headers(more []Header) map[string]reference {
	all := map[string]reference{}
	for _, h := range more {
		all[h.Name] = define(d, "headers", d.Components.Headers, h.Name, h)
	}
	return all
}

// schema defines the components that a schema and its parts have names for, and returns it.
func (d *document) schema(s *Schema) *Schema {
	if s.Name != "" {
		_, known := d.Components.Schemas[s.Name]
		define(d, "schemas", d.Components.Schemas, s.Name, (*component)(s))
		if known {
			return s
		}
	}
	for _, part := range s.parts() {
		d.schema(part)
	}
	return s
}

// define adds a component and returns a reference to it.
func define[T any](d *document, kind string, of map[string]T, name string, value T) reference {
	if old, ok := of[name]; ok && !reflect.DeepEqual(old, value) {
		d.conflicts = append(d.conflicts, fmt.Errorf("openapi: two different %s have the name %s", kind, name))
	}
	of[name] = value
	return reference{Ref: "#/components/" + kind + "/" + name}
}
