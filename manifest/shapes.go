package manifest

import "slices"

// The shapes of the specification, each key with its check. They say what the
// schema says; rules between keys are in the functions that use them.

var serverShape = shape{
	{"$schema", false, schemaURI},
	{"name", true, serverName},
	{"title", false, presentation(title)},
	{"description", true, text(1, 100)},
	{"version", true, serverVersion},
	{"websiteUrl", false, website},
	{"icons", false, presentation(listOf(icon))},
	{"repository", false, repository},
	{"packages", false, listOf(packageObject)},
	{"remotes", false, listOf(remote)},
	{"_meta", false, meta},
}

var metaShape = shape{
	{NeutralPublisherKey, false, anyObject},
	{PublisherKey, false, anyObject},
}

var iconShape = shape{
	{"src", true, iconSource},
	{"mimeType", false, oneOf("image/png", "image/jpeg", "image/jpg", "image/svg+xml", "image/webp")},
	{"sizes", false, listOf(iconSize)},
	{"theme", false, oneOf("light", "dark")},
}

var repositoryShape = shape{
	{"url", true, uri},
	{"source", true, anyString},
	{"id", false, anyString},
	{"subfolder", false, subfolder},
}

var packageShape = shape{
	{"registryType", true, registryType},
	{"identifier", true, identifier},
	{"version", false, packageVersion},
	{"registryBaseUrl", false, uri},
	{"fileSha256", false, sha256Hex},
	{"runtimeHint", false, anyString},
	{"transport", true, localTransport},
	{"runtimeArguments", false, listOf(argument)},
	{"packageArguments", false, listOf(argument)},
	{"environmentVariables", false, listOf(keyValue)},
}

var stdioShape = shape{{"type", true, known}}

var httpShape = shape{
	{"type", true, known},
	{"url", true, urlTemplate},
	{"headers", false, listOf(header)},
}

var sseShape = shape{
	{"type", true, known},
	{"url", true, sseURL},
	{"headers", false, listOf(header)},
}

var remoteVariables = shape{{"variables", false, templated(mapOf(input))}}

var (
	remoteHTTPShape = slices.Concat(httpShape, remoteVariables)
	remoteSSEShape  = slices.Concat(sseShape, remoteVariables)
)

var inputShape = shape{
	{"description", false, anyString},
	{"isRequired", false, anyBoolean},
	{"format", false, oneOf("string", "number", "boolean", "filepath")},
	{"value", false, anyString},
	{"isSecret", false, anyBoolean},
	{"default", false, anyString},
	{"placeholder", false, presentation(anyString)},
	{"choices", false, listOf(anyString)},
}

var variableShape = slices.Concat(inputShape, shape{{"variables", false, mapOf(input)}})

var keyValueShape = slices.Concat(variableShape, shape{{"name", true, anyString}})

// argumentShape is what both kinds of arguments share. It is all that is checked
// where the kind is not known.
var argumentShape = slices.Concat(variableShape, shape{{"isRepeated", false, anyBoolean}})

var positionalShape = slices.Concat(argumentShape, shape{
	{"type", true, known},
	{"valueHint", false, anyString},
})

var namedShape = slices.Concat(argumentShape, shape{
	{"type", true, known},
	{"name", true, flagName},
})

// known is the check of a type by which the shape was chosen.
func known(*validator, *Node) {}

// presentation is a check of a key that the schema of 2025-09-29 has not.
func presentation(c check) check {
	return func(v *validator, n *Node) {
		if !v.noPresentation {
			c(v, n)
		}
	}
}

// templated is a check of a key that came with url templates.
func templated(c check) check {
	return func(v *validator, n *Node) {
		if !v.uriSSE {
			c(v, n)
		}
	}
}

func (v *validator) server(n *Node) {
	v.object(n, serverShape)
	if v.registry && n.Kind == KindObject && n.Get("$schema") == nil {
		v.fault(RuleSchemaRequired, n, "the manifest lacks a $schema").
			suggest(`add "$schema": "%s"`, currentSchema)
	}
}

func meta(v *validator, n *Node) { v.object(n, metaShape) }

func icon(v *validator, n *Node) { v.object(n, iconShape) }

func input(v *validator, n *Node) {
	if v.object(n, inputShape) {
		v.defaultIsChoice(n)
	}
}

func keyValue(v *validator, n *Node) {
	if v.object(n, keyValueShape) {
		v.defaultIsChoice(n)
	}
}

func header(v *validator, n *Node) {
	if v.object(n, keyValueShape) {
		v.defaultIsChoice(n)
		v.headerLine(n)
	}
}

func repository(v *validator, n *Node) {
	if v.object(n, repositoryShape) && v.registry {
		v.repositoryHost(n)
	}
}

// kind reads the type that tells the members of a union apart. It returns "" after
// a fault.
func (v *validator) kind(n *Node, allowed ...string) string {
	t := n.Get("type")
	if t == nil {
		v.missing(n, shape{{"type", true, nil}}, 0, slipsOf(n, "type"))
		return ""
	}
	v.trail.key("type")
	defer v.trail.pop()
	if !v.is(t, KindString) || !v.among(t, allowed) {
		return ""
	}
	return t.Text
}

// slipsOf returns the members whose keys are nearly a known one.
func slipsOf(n *Node, known string) []*Member {
	s := shape{{known, true, nil}}
	var slips []*Member
	for i := range n.Members {
		if m := &n.Members[i]; m.Key != known && !m.Shadowed && s.like(m.Key) >= 0 {
			slips = append(slips, m)
		}
	}
	return slips
}

func argument(v *validator, n *Node) {
	if !v.is(n, KindObject) {
		return
	}
	switch v.kind(n, string(PositionalArgument), string(NamedArgument)) {
	case string(PositionalArgument):
		v.object(n, positionalShape)
		if n.Get("value") == nil && n.Get("valueHint") == nil {
			v.fault(RulePositionalValue, n, "%s has neither a value nor a valueHint", v.trail.subject()).
				suggest("add a value to be used as it is, or a valueHint that names what the user has to give")
		}
	case string(NamedArgument):
		v.object(n, namedShape)
		v.flagInValue(n)
	default:
		v.object(n, argumentShape)
	}
	v.defaultIsChoice(n)
}

func localTransport(v *validator, n *Node) {
	if !v.is(n, KindObject) {
		return
	}
	switch v.kind(n, string(Stdio), string(StreamableHTTP), string(SSE)) {
	case string(Stdio):
		v.object(n, stdioShape)
		v.stdioURL(n)
	case string(StreamableHTTP):
		v.object(n, httpShape)
	case string(SSE):
		v.object(n, sseShape)
	}
}

func remote(v *validator, n *Node) {
	if !v.is(n, KindObject) {
		return
	}
	switch v.kind(n, string(StreamableHTTP), string(SSE)) {
	case string(StreamableHTTP):
		v.object(n, remoteHTTPShape)
	case string(SSE):
		v.object(n, remoteSSEShape)
	default:
		return
	}
	v.urlVariables(n, keysOf(n.Get("variables")), "the remote's variables")
	v.remoteHost(n.Get("url"))
}

func packageObject(v *validator, n *Node) {
	if !v.object(n, packageShape) {
		return
	}
	v.bundle(n)
	v.strictKeys(n)
	v.duplicateNames(n.Get("environmentVariables"), "environmentVariables")
	if t := n.Get("transport"); t != nil && stringOf(t.Get("type")) != string(Stdio) {
		v.trail.key("transport")
		v.urlVariables(t, packageNames(n), "the package's arguments and environment variables")
		v.trail.pop()
	}
}

// bundle wants the digest of a bundle file.
func (v *validator) bundle(n *Node) {
	label := stringOf(n.Get("registryType"))
	if n.Get("fileSha256") == nil && slices.Contains(v.opts.BundleLabels, label) {
		v.report(v.prose, RuleBundleSHA256, n, "%s is a bundle file (%s) and lacks its fileSha256", v.trail.subject(), show(label)).
			suggest("add the SHA-256 of the file as 64 lowercase hexadecimal characters")
	}
}

// strictKeys holds a package to the schema that had no free keys in it.
func (v *validator) strictKeys(n *Node) {
	if !v.strictPackage {
		return
	}
	if n.Get("version") == nil {
		v.fault(RuleRequired, n, "%s lacks the required key %q", v.trail.subject(), "version")
	}
	for i := range n.Members {
		m := &n.Members[i]
		if packageShape.find(m.Key) < 0 && !m.Shadowed {
			key := Node{Start: m.KeyStart, End: m.KeyEnd}
			v.fault(RulePackageKey, &key, "a package has no key %s in this schema", show(m.Key))
		}
	}
}

// stringOf is the text of a string, and "" of anything else.
func stringOf(n *Node) string {
	if n == nil || n.Kind != KindString {
		return ""
	}
	return n.Text
}
