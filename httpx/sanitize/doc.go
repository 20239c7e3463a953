// Package sanitize rejects requests with HTML markup in JSON and form bodies, in queries, and in
// field names.
//
//	check := sanitize.New(nil)
//	handler := check.Middleware(mux)
//
// Text with any of & ' " < > passes unchanged: AT&T, O'Brien and "1 < 2" are not markup. Tags,
// complete or not, comments and scripts are markup: whatever an HTML policy would remove. Two kinds
// of text pass although it would remove them, because people write them about networks:
//
//   - tag-like text whose name is no element of HTML, SVG or MathML, without values of attributes:
//     to <core-1>, <<vPC for OTV>>
//   - comparisons of two words without a ">" after them: a<b, rx<tx
//
// Password fields are not checked: passwords are never displayed and may contain anything.
//
// # Design notes
//
// The policy allows no element. A policy that allows harmless elements accepts only its own
// output, so bold text would pass and text with an ampersand would not.
//
// Input and output are unescaped before they are compared, because the policy escapes text. An
// escaped tag therefore passes: browsers display it as text.
//
// Tag-like text of an unknown element has no effect in a page that forgets to escape it. A
// comparison has none either, until other text with values of attributes and a ">" follows it
// without escaping. So a tag that is not complete passes only directly after a letter or a
// digit, with one letter or an unknown name, and without an equals sign or a quote after it.
//
// Strings without "<", or with "<" that cannot start markup, are not parsed. Nearly all strings
// are like that, and a body of many "<" must stay cheap.
//
// A body that begins like JSON is checked as JSON up to the first syntax error, whatever its
// content type; the handler reports the error. The body is read whole, up to a limit.
package sanitize
