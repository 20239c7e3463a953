package openapi

import "github.com/ashlar-go/ashlar/inventory"

// Answer is a good answer.
type Answer struct {
	Status      int    // 200 to 399
	Description string // default: that of the status
	Schema      *Schema
	// ContentType is that of the body. Default: application/json if there is a Schema, none
	// if there is not.
	ContentType string
	Headers     []Header // beyond those that every answer has
}

// Header is one of an answer.
type Header struct {
	Name        string
	Description string
	Schema      *Schema // required
}

// ETag is the header of the version that an answer shows.
func ETag() Header {
	return Header{"ETag", "The version, for If-Match and If-None-Match.", String("")}
}

// Location is the header of what was made.
func Location() Header { return Header{"Location", "Where the new record is.", String("")} }

// SetCookie is the header that sets or clears the cookie of the token.
func SetCookie() Header {
	return Header{"Set-Cookie", "The cookie Bearer, which holds the token, or is cleared.", String("")}
}

// everywhere are the headers of every answer.
func everywhere() []Header {
	return []Header{
		{"X-Request-ID", "The name of the request, for logs and questions.", String("")},
		{"X-Response-Time", "How long the answer took.", String("")},
		{"X-RateLimit-Limit", "How many requests there may be in a window.", Integer("", 0)},
		{"X-RateLimit-Remaining", "How many of them are left.", Integer("", 0)},
		{"X-RateLimit-Reset", "When the next window begins, in Unix seconds.", Integer("", 0)},
	}
}

// further are headers of some errors.
func further(status int) []Header {
	switch status {
	case 429, 503:
		return []Header{{"Retry-After", "After how many seconds to try again.", Integer("", 0)}}
	}
	return nil
}

// Confirmation is the answer that has nothing to show but that something is done, and
// more properties, if there are any. With those it needs a name.
func Confirmation(name string, more ...Property) *Schema {
	if len(more) == 0 {
		name = "Confirmation"
	}
	return Object(name, append([]Property{
		Must("status", Const("success")),
		Must("message", String("What was done, for people.")),
	}, more...)...)
}

// Count is the answer that says how many there are.
func Count() *Schema {
	return Object("Count", Must("status", Const("success")), Must("count", Integer("", 0)))
}

// Failure is the body of every error (specification, "Errors").
func Failure() *Schema {
	return Object("Error", append([]Property{
		Must("status", Const("error")),
		Must("message", String("What is wrong, for people.")),
	}, details()...)...)
}

// problem is the body of an error for those who ask for it in the form of RFC 9457.
func problem() *Schema {
	status := Integer("", 400)
	status.Maximum = ptr(599.0)
	return Object("Problem", append([]Property{
		Must("type", String("")),
		Must("title", String("")),
		Must("status", status),
		Must("detail", String("What is wrong, for people.")),
	}, details()...)...)
}

// details are what an error may tell, in both forms.
func details() []Property {
	wrong := Items(Object("FieldError",
		Must("field", String(`The way to the field, such as "location_id" or "tags[2]"; a parameter; or "body".`)),
		Must("reason", String("What would be right."))))
	wrong.MaxItems = nil
	items := Items(Object("ItemError",
		Must("index", Integer("Which item, from 0.", 0)),
		May("id", String("The id of its record, if it has one.")),
		Must("message", String("What is wrong, for people.")),
		May("errors", wrong)))
	items.MaxItems = ptr(inventory.MaxItems)
	return []Property{
		May("request_id", String("The name of the request, as in X-Request-ID.")),
		May("errors", wrong),
		May("items", items),
	}
}
