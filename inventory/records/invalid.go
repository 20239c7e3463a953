package records

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/ashlar-go/ashlar/internal/suggest"
)

// FieldError says what is wrong with one field or one query parameter. It is also an error of a check of a value,
// without a field: [Refuse] and [InField] name the field.
type FieldError struct {
	Field  string // as in JSON, such as "location_id" or "tags[2]"
	Code   string // of the table in REFERENCE.md, 2.2, such as "required"; empty counts as "invalid"
	Reason string // what is wrong with it, or what is expected
}

// Error returns the field, if there is one, and the reason.
func (e FieldError) Error() string { return strings.TrimPrefix(e.Field+" "+e.Reason, " ") }

// InField returns the error of a field whose value a check has refused with err. Its code is that of the
// FieldError in err's tree.
func InField(field string, err error) FieldError {
	e, _ := errors.AsType[FieldError](err)
	return FieldError{field, cmp.Or(e.Code, "invalid"), err.Error()}
}

// Refuse returns the error of kind [Invalid] for one field whose value a check has refused with err.
func Refuse(field string, err error) *Error {
	e := InField(field, err)
	return &Error{Kind: Invalid, Message: e.Error(), Fields: []FieldError{e}}
}

// InvalidField returns the error of kind [Invalid] for one field, with the code "invalid".
func InvalidField(name, reason string) *Error { return Refuse(name, errors.New(reason)) }

// Wrong refuses a value for the reason of a code, with a formatted sentence such as "must be even".
func Wrong(code, format string, args ...any) FieldError {
	return FieldError{Code: code, Reason: fmt.Sprintf(format, args...)}
}

// because appends why, or what to do, if it is not empty.
func (e FieldError) because(hint string) FieldError {
	if hint != "" {
		e.Reason += ": " + hint
	}
	return e
}

// Missing refuses an empty value. The hint says why, or what to do; it may be empty.
func Missing(hint string) FieldError { return Wrong("required", "must not be empty").because(hint) }

// NotAllowed refuses any value where there may be none, such as "beside page".
func NotAllowed(where string) FieldError { return Wrong("not_allowed", "must be omitted %s", where) }

// Unknown refuses a name: what is "field", "query parameter" or "filter", and the hint names those that exist.
func Unknown(what, hint string) FieldError {
	return Wrong("unknown", "is an unknown %s", what).because(hint)
}

// WrongKind refuses a value that is not of a kind.
func WrongKind(kind Kind) FieldError {
	return WrongType([...]string{
		Text: "a string", Int: "a whole number", Float: "a number", Bool: "true or false",
		Time: "a timestamp such as 2026-01-31T12:00:00Z", List: "an array of strings", Object: "an object",
	}[kind])
}

// WrongType refuses a value of another type than the one that want describes.
func WrongType(want string) FieldError { return Wrong("wrong_type", "must be %s", want) }

// BadFormat refuses a value without the form that want describes.
func BadFormat(want string) FieldError { return Wrong("bad_format", "must be %s", want) }

// BadID refuses a value that is no id.
func BadID() FieldError { return BadFormat("a UUID such as 018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f") }

// NotOneOf refuses a value that is not in a list.
func NotOneOf(sent string, values ...string) FieldError {
	hint := suggest.Among(sent, values)
	if hint != "" {
		hint = "did you mean " + hint + "?"
	}
	return Wrong("not_one_of", "must be one of %s", strings.Join(values, ", ")).because(hint)
}

// OutOfRange refuses a value outside of bounds, of which one may be nil. The hint may be empty.
func OutOfRange(least, most any, hint string) FieldError {
	e := Wrong("out_of_range", "must be from %v to %v", least, most)
	switch {
	case most == nil:
		e = Wrong(e.Code, "must be at least %v", least)
	case least == nil:
		e = Wrong(e.Code, "must be at most %v", most)
	}
	return e.because(hint)
}

// TooLong refuses a text with more than a number of a unit such as "characters".
func TooLong(most any, unit string) FieldError {
	return Wrong("too_long", "must have at most %v %s", most, unit)
}

// TooMany refuses more than a number of things, such as "elements".
func TooMany(most any, things string) FieldError {
	return Wrong("too_many", "must have at most %v %s", most, things)
}

// Repeated refuses what occurs more than once.
func Repeated() FieldError { return Wrong("repeated", "must not be repeated") }

// Inconsistent refuses a value that does not fit another field or record; want describes one that does.
func Inconsistent(want string) FieldError { return Wrong("inconsistent", "must be %s", want) }

// InUse refuses a change because of other records, such as "the rack has 3 devices: move these first".
func InUse(by string) FieldError { return Wrong("in_use", "can't be changed while %s", by) }

// NoRecord refuses a reference to a record of a resource that does not exist. The id may be empty.
func NoRecord(resource, id string) FieldError {
	return Wrong("not_found", "refers to a record of %s that does not exist", resource).because(id)
}

// notIP describes the format ip.
const notIP = "an IP address such as 192.0.2.1 or 2001:db8::1, without a prefix length"

// fixedMessages are the messages that the specification fixes, by the reason of the only field.
var fixedMessages = map[string]string{BadFormat(notIP).Reason: "Invalid IP address format"}

// invalid returns the error for these fields, and an untyped nil for none.
func (r *Resource) invalid(fields []FieldError) error {
	if len(fields) == 0 {
		return nil
	}
	return newInvalid(r, fields)
}

// refuse returns the error for one field whose value a check has refused with err.
func (r *Resource) refuse(field string, err error) *Error {
	return newInvalid(r, []FieldError{InField(field, err)})
}

func newInvalid(r *Resource, fields []FieldError) *Error {
	e := InvalidFields(r.Noun(), fields)
	if len(fields) == 1 {
		e.Message = cmp.Or(r.Reasons[fields[0].Reason], fixedMessages[fields[0].Reason], e.Message)
	}
	return e
}

// InvalidFields returns the error of kind [Invalid] for some fields of what a noun names, such as "device".
func InvalidFields(noun string, fields []FieldError) *Error {
	messages := make([]string, len(fields))
	for i, f := range fields {
		messages[i] = f.Error()
	}
	return &Error{Kind: Invalid, Message: "Invalid " + noun + ": " + strings.Join(messages, "; "), Fields: fields}
}
