// Package errcode lists the codes of errors: short names that programs compare, since sentences may change.
// REFERENCE.md of the inventory has their meanings (2.2).
package errcode

import (
	"maps"
	"slices"
)

// Fields returns the codes of errors of single fields and parameters.
func Fields() []string {
	return []string{
		"required", "not_allowed", "unknown", "read_only", "wrong_type", "bad_format", "not_one_of", "out_of_range",
		"too_short", "too_long", "too_many", "repeated", "inconsistent", "not_found", "ambiguous", "not_unique", "in_use",
		"forbidden", "weak_password", "wrong", "markup", "invalid_json", "invalid",
	}
}

// Statuses returns the codes of whole errors by their HTTP statuses.
func Statuses() map[int]string { return maps.Clone(statuses) }

// statuses are made once: under an attack most responses are errors.
var statuses = map[int]string{
	400: "invalid", 401: "unauthorized", 403: "forbidden", 404: "not_found", 405: "method_not_allowed", 406: "not_acceptable",
	408: "timeout", 409: "conflict", 410: "gone", 412: "precondition_failed", 413: "too_large", 415: "unsupported_type",
	421: "wrong_host", 422: "unprocessable", 429: "too_many_requests", 500: "internal", 503: "unavailable", 507: "full",
}

// Errors returns the codes of whole errors: those of statuses, and those that say more.
func Errors() []string {
	more := []string{"account_inactive", "in_use", "not_unique", "second_factor_required", "second_factor_wrong"}
	return append(slices.Sorted(maps.Values(statuses)), more...)
}

// OfStatus returns the code of an error with an HTTP status that has no other one.
func OfStatus(status int) string {
	switch code, ok := statuses[status]; {
	case ok:
		return code
	case status >= 500:
		return "internal"
	}
	return "invalid"
}
