// Package sanitize refuses requests that bring HTML: markup in JSON and form bodies,
// in queries, and in the names of their fields.
//
//	check := sanitize.New(nil)
//	handler := check.Middleware(mux)
//
// Text passes as it is, with any of & ' " < >: AT&T, O'Brien and "1 < 2" are no markup.
// What is refused is what an HTML policy would take out (ruling 14 of the reference):
// tags, whole or not, comments, script.
//
// Values whose field is a password are not looked at. They are never shown, and people
// are free in what they choose.
//
// # Design notes
//
// The policy lets no element through. One that takes harmless elements would pass
// whatever is written as it would write it itself, so that bold text would be accepted
// and text with an ampersand refused.
//
// Both sides are unescaped before they are compared, for the policy escapes what it lets
// through. So text that holds an escaped tag passes: it is text, wherever it is shown.
//
// A text without "<", or with one that begins nothing, is not parsed: nearly all are
// such, and a body of nothing but small brackets must not cost much.
//
// A body is looked at as JSON when it begins like JSON, whatever its content type
// says, up to where it ceases to be: the handler decides what to make of the rest.
// It is read whole, up to a limit of this layer's own.
package sanitize
