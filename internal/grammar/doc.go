// Package grammar has the forms of the strings in a manifest: URIs and url templates,
// versions and version ranges, container images, and the placeholders of release
// templates. Packages manifest and launch share it.
//
// Functions that look for a fault return the reason as the end of a sentence, or "".
package grammar
