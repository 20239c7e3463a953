package client

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/internal/limitheader"
	"github.com/ashlar-go/ashlar/internal/printable"
)

// Error is the response of a server that refuses a request, or fails.
type Error struct {
	Method, Path string // of the request, such as POST and /devices
	Status       int    // such as 409; 3xx for a redirect that was not followed
	// Code is a short name for programs, such as "not_unique" or "precondition_failed" (REFERENCE.md, 2.2). It is empty if
	// the response is not one of an inventory.
	Code      string
	Message   string             // for people
	Fields    []httpx.FieldError // what is wrong with single fields
	Items     []httpx.ItemError  // what is wrong with single items of a bulk request
	Problems  []Problem          // what is wrong with rows of an import
	RequestID string             // as in the log of the server
	Wait      time.Duration      // after which another attempt makes sense (Retry-After); 0 if the server does not say
	// Unsure says that there was no response to an earlier attempt, so that the change may have been made. So it is with
	// 412 after a change that arrived, and whose response was lost: read the record.
	Unsure bool
}

// Error returns the request and the message, with a line for each further detail.
func (e *Error) Error() string {
	text := e.Method + " " + e.Path + ": " + printable.String(e.Message)
	detail := func(format string, args ...any) {
		if line := printable.String(fmt.Sprintf(format, args...)); !strings.Contains(text, line) {
			text += "\n  " + line
		}
	}
	for _, f := range e.Fields {
		detail("%s %s", f.Field, f.Reason)
	}
	for _, item := range e.Items {
		detail("item %d %s: %s", item.Index, item.ID, item.Message)
		for _, f := range item.Errors {
			detail("item %d: %s %s", item.Index, f.Field, f.Reason)
		}
	}
	return text
}

// failure returns the error that a response says.
func (c *Client) failure(method, path string, res *http.Response) *Error {
	e := &Error{Method: method, Path: path, Status: res.StatusCode, RequestID: res.Header.Get("X-Request-ID")}
	e.Wait, _ = limitheader.Wait(res.Header.Get(limitheader.RetryAfter))
	text, _ := io.ReadAll(io.LimitReader(res.Body, c.opts.MaxResponse)) // what can't be read is not of an inventory
	var body struct {
		Code, Message string
		Errors        []httpx.FieldError
		Items         []httpx.ItemError
		Problems      []Problem
	}
	if json.Unmarshal(text, &body) != nil || body.Message == "" {
		e.Message = fmt.Sprintf("the server responded %s, not as an inventory does: check the URL", res.Status)
		return e
	}
	e.Code, e.Message, e.Fields, e.Items, e.Problems = body.Code, body.Message, body.Errors, body.Items, body.Problems
	return e
}
