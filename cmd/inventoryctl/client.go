package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/internal/suggest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// maxResponse bounds a response that is kept in memory, in bytes.
const maxResponse = 64 << 20

// client sends requests to the server of a context.
type client struct {
	*app
	profile *profile
	ctx     context.Context
	schema  *records.Schema // with the custom fields of the server, see load
}

// action is what a command does.
type action = func(c *client, args []string) error

// runs returns the function of a command, with the client of its context.
func (a *app) runs(do action) func(*cobra.Command, []string) error {
	return func(command *cobra.Command, args []string) error {
		p, err := a.profile()
		if err != nil {
			return err
		}
		return do(&client{app: a, profile: p, ctx: command.Context(), schema: a.schema}, args)
	}
}

// loads is runs with the custom fields of the server.
func (a *app) loads(do action) func(*cobra.Command, []string) error {
	return a.runs(func(c *client, args []string) error {
		if err := c.load(); err != nil {
			return err
		}
		return do(c, args)
	})
}

// load adds the custom fields of the server to the schema, if the user may read them.
func (c *client) load() error {
	var fields []records.Record
	r := records.Of[inventory.CustomField](c.schema)
	err := c.pages(r.Name, url.Values{}, func(doc json.RawMessage) error {
		f := &inventory.CustomField{}
		fields = append(fields, f)
		return json.Unmarshal(doc, f)
	})
	if denied(err) {
		return nil
	}
	if err == nil {
		c.schema, err = c.schema.Declared(fields)
	}
	return err
}

// responseError is the error of a server.
type responseError struct {
	what     string // the request
	status   int
	message  string
	details  []string
	problems []importProblem // of an import
}

func (e *responseError) Error() string {
	text := e.what + ": " + cli.Printable(e.message)
	for _, detail := range e.details {
		text += "\n  " + cli.Printable(detail)
	}
	if e.status == http.StatusUnauthorized {
		text += "\n  run inventoryctl login"
	}
	return text
}

// denied reports whether a server refuses access, or does not have what was asked for.
func denied(err error) bool {
	failed, ok := errors.AsType[*responseError](err)
	return ok && (failed.status == http.StatusForbidden || failed.status == http.StatusNotFound)
}

// open sends a request and returns the body of a successful response.
func (c *client) open(method, path string, query url.Values, contentType string, body io.Reader) (io.ReadCloser, error) {
	to := c.profile.Server + path
	if len(query) > 0 {
		to += "?" + query.Encode()
	}
	request, err := http.NewRequestWithContext(c.ctx, method, to, body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json, */*;q=0.1")
	if body != nil {
		request.Header.Set("Content-Type", contentType)
	}
	if c.profile.Token != "" {
		request.Header.Set("Authorization", "Bearer "+c.profile.Token)
	}
	response, err := c.do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= 300 {
		defer response.Body.Close()
		return nil, failure(method+" "+path, response)
	}
	return response.Body, nil
}

// maxWaits is the number of times that a request waits for the rate limit of the server, and maxWait the longest wait.
const (
	maxWaits = 3
	maxWait  = time.Minute
)

// do sends a request, and sends it again when the rate limit of the server admits it.
func (c *client) do(request *http.Request) (*http.Response, error) {
	for n := 0; ; n++ {
		response, err := c.http.Do(request)
		if err != nil || response.StatusCode != http.StatusTooManyRequests || n == maxWaits {
			return response, err
		}
		seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
		wait := time.Duration(seconds) * time.Second
		if err != nil || wait < 0 || wait > maxWait {
			return response, nil
		}
		_ = response.Body.Close() // nothing of it is needed
		if request.GetBody != nil {
			if request.Body, err = request.GetBody(); err != nil {
				return nil, err
			}
		}
		printf(c.env.Stderr, "the server has too many requests: waiting for %d s", seconds)
		select {
		case <-c.ctx.Done():
			return nil, c.ctx.Err()
		case <-time.After(wait):
		}
	}
}

// failure returns the error that a response says.
func failure(what string, response *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(response.Body, maxResponse))
	e := &responseError{what: what, status: response.StatusCode}
	var body struct {
		Message  string
		Errors   []httpx.FieldError
		Items    []httpx.ItemError
		Problems []importProblem
	}
	if json.Unmarshal(text, &body) != nil || body.Message == "" {
		e.message = fmt.Sprintf("the server responded %s, not as an inventory does: check the URL", response.Status)
		return e
	}
	e.message = body.Message
	for _, f := range body.Errors {
		if detail := f.Field + " " + f.Reason; !strings.Contains(e.message, detail) {
			e.details = append(e.details, detail)
		}
	}
	for _, item := range body.Items {
		e.details = append(e.details, fmt.Sprintf("item %d %s: %s", item.Index, item.ID, item.Message))
		for _, f := range item.Errors {
			e.details = append(e.details, fmt.Sprintf("item %d: %s %s", item.Index, f.Field, f.Reason))
		}
	}
	e.problems = body.Problems
	return e
}

// send sends JSON and reads JSON. in and out may be nil.
func (c *client) send(method, path string, query url.Values, in, out any) error {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(text)
	}
	got, err := c.open(method, path, query, "application/json", body)
	if err != nil {
		return err
	}
	defer got.Close()
	return read(got, path, out)
}

// read reads a response in JSON.
func read(body io.Reader, path string, out any) error {
	text, err := io.ReadAll(io.LimitReader(body, maxResponse+1))
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", path, err)
	case len(text) > maxResponse:
		return fmt.Errorf("%s: the response has more than %d MiB", path, maxResponse>>20)
	case out == nil:
		return nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("%s: the response is no JSON of an inventory: %w", path, err)
	}
	return nil
}

func (c *client) get(path string, query url.Values, out any) error {
	return c.send(http.MethodGet, path, query, nil, out)
}

// pages calls f with each record of a list.
func (c *client) pages(resource string, query url.Values, f func(doc json.RawMessage) error) error {
	query = maps.Clone(query)
	query.Set("limit", "100")
	query.Set("count", "none")
	query.Set("cursor", "")
	for {
		var page struct {
			Meta struct {
				Next string `json:"next_cursor"`
			}
			Data []json.RawMessage
		}
		if err := c.get("/"+resource, query, &page); err != nil {
			return err
		}
		for _, doc := range page.Data {
			if err := f(doc); err != nil {
				return err
			}
		}
		if page.Meta.Next == "" {
			return nil
		}
		query.Set("cursor", page.Meta.Next)
	}
}

// column returns the values of a field of the first records of a list.
func (c *client) column(r *records.Resource, query url.Values, field string, limit int) (values []string, err error) {
	query = maps.Clone(query)
	query.Set("fields", field)
	query.Set("limit", strconv.Itoa(limit))
	query.Set("count", "none")
	var page struct{ Data []map[string]any }
	err = c.get("/"+r.Name, query, &page)
	for _, rec := range page.Data {
		values = append(values, label(rec[field]))
	}
	return values, err
}

// resource returns a resource by its name: devices, or device.
func (c *client) resource(name string) (*records.Resource, error) {
	var names []string
	for _, r := range c.schema.Resources() {
		if names = append(names, r.Name); r.Name == name || singular(r) == name {
			return r, nil
		}
	}
	meant := ""
	if close := suggest.Closest(name, names, max(2, len(name)/2)); close != "" {
		meant = fmt.Sprintf("did you mean %s? ", close)
	}
	return nil, cli.Usagef("there is no resource %q: %suse one of %s", name, meant, strings.Join(names, ", "))
}

// singular returns the name of one record: device.
func singular(r *records.Resource) string { return strings.ReplaceAll(r.Kind(), "_", "-") }
