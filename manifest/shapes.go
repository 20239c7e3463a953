package manifest

import (
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/internal/jsonpos"
)

// The shapes of the specification: each key with its check, as in the schema. The
// functions below check the rules between the keys of one object.

var serverShape = shape{
	{"$schema", false, schemaURI},
	{"name", true, serverName},
	{"title", false, sinceOctober(title)},
	{"description", true, length(1, 100)},
	{"version", true, serverVersion},
	{"websiteUrl", false, website},
	{"icons", false, sinceOctober(listOf(icon))},
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

// A type is checked before its shape is chosen.
var stdioShape = shape{{"type", true, anyString}}

var httpShape = shape{
	{"type", true, anyString},
	{"url", true, httpURL},
	{"headers", false, listOf(header)},
}

var sseShape = shape{
	{"type", true, anyString},
	{"url", true, sseURL},
	{"headers", false, listOf(header)},
}

// Remotes have variables since urls are templates.
var remoteVariables = shape{{"variables", false, func(v *validator, n *Node) {
	if !v.plainURLs {
		mapOf(input)(v, n)
	}
}}}

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
	{"placeholder", false, sinceOctober(anyString)},
	{"choices", false, listOf(anyString)},
}

var (
	variableShape = slices.Concat(inputShape, shape{{"variables", false, mapOf(input)}})
	keyValueShape = slices.Concat(variableShape, shape{{"name", true, anyString}})
	// argumentShape has the keys of both kinds. Nothing else is checked if the type is
	// missing or wrong.
	argumentShape   = slices.Concat(variableShape, shape{{"isRepeated", false, anyBoolean}})
	positionalShape = slices.Concat(argumentShape, shape{{"type", true, anyString}, {"valueHint", false, anyString}})
	namedShape      = slices.Concat(argumentShape, shape{{"type", true, anyString}, {"name", true, flagName}})
)

// sinceOctober checks a key that the schema of 2025-09-29 does not have.
func sinceOctober(c check) check {
	return func(v *validator, n *Node) {
		if !v.noPresentation {
			c(v, n)
		}
	}
}

func meta(v *validator, n *Node) { v.object(n, metaShape) }

func icon(v *validator, n *Node) { v.object(n, iconShape) }

func input(v *validator, n *Node) {
	if v.object(n, inputShape) {
		v.defaultChoice(n)
	}
}

func keyValue(v *validator, n *Node) {
	if v.object(n, keyValueShape) {
		v.defaultChoice(n)
	}
}

func header(v *validator, n *Node) {
	if !v.object(n, keyValueShape) {
		return
	}
	v.defaultChoice(n)
	for _, key := range [...]string{"value", "default"} {
		if text := n.Get(key); strings.ContainsAny(stringOf(text), "\r\n\x00") {
			v.at(key, func() {
				v.warn(RuleLineBreak, text, "%s has a line break, which a header cannot have", v.subject()).suggest("write it on one line")
			})
		}
	}
}

// defaultChoice warns about a default that users cannot choose. The message shows
// neither, because the input may be a secret.
func (v *validator) defaultChoice(n *Node) {
	initial, choices := n.Get("default"), n.Get("choices")
	if initial == nil || choices == nil || initial.Kind != KindString || len(choices.Elements) == 0 ||
		slices.ContainsFunc(choices.Elements, func(c Node) bool { return c.Text == initial.Text }) {
		return
	}
	v.at("default", func() {
		v.warn(RuleDefaultChoice, initial, "%s is not one of the choices", v.subject()).suggest("add it to the choices, or use another default")
	})
}

func argument(v *validator, n *Node) {
	if !v.mustBe(n, KindObject) {
		return
	}
	switch ArgumentType(v.unionType(n, string(PositionalArgument), string(NamedArgument))) {
	case PositionalArgument:
		v.object(n, positionalShape)
		if n.Get("value") == nil && n.Get("valueHint") == nil {
			v.fault(RulePositionalValue, n, "%s has neither a value nor a valueHint", v.subject()).
				suggest("add a value, which is used unchanged, or a valueHint, which names what users provide")
		}
	case NamedArgument:
		v.object(n, namedShape)
		v.flagInValue(n)
	default:
		v.object(n, argumentShape)
	}
	v.defaultChoice(n)
}

func localTransport(v *validator, n *Node) {
	if !v.mustBe(n, KindObject) {
		return
	}
	switch TransportType(v.unionType(n, string(Stdio), string(StreamableHTTP), string(SSE))) {
	case Stdio:
		v.object(n, stdioShape)
		v.stdioURL(n)
	case StreamableHTTP:
		v.object(n, httpShape)
	case SSE:
		v.object(n, sseShape)
	}
}

func remote(v *validator, n *Node) {
	if !v.mustBe(n, KindObject) {
		return
	}
	switch TransportType(v.unionType(n, string(StreamableHTTP), string(SSE))) {
	case StreamableHTTP:
		v.object(n, remoteHTTPShape)
	case SSE:
		v.object(n, remoteSSEShape)
	default:
		return
	}
	declared := make(map[string]bool)
	if variables := n.Get("variables"); variables != nil {
		for i := range variables.Members {
			declared[variables.Members[i].Key] = true
		}
	}
	v.urlVariables(n, declared, "the variables of the remote")
	v.remoteHost(n.Get("url"))
}

func packageObject(v *validator, n *Node) {
	if !v.object(n, packageShape) {
		return
	}
	label := stringOf(n.Get("registryType"))
	if n.Get("fileSha256") == nil && slices.Contains(v.bundleLabels, label) {
		v.report(v.prose, RuleBundleSHA256, n, "%s is a bundle file (registryType %s) without fileSha256", v.subject(), jsonpos.Quote(label)).
			suggest("add the SHA-256 of the file as 64 lowercase hexadecimal characters")
	}
	if v.strictPackage {
		v.strictKeys(n)
	}
	v.duplicateNames(n)
	if t := n.Get("transport"); t != nil && stringOf(t.Get("type")) != string(Stdio) {
		v.at("transport", func() {
			v.urlVariables(t, packageNames(n), "the arguments and environment variables of the package")
		})
	}
}

// strictKeys applies the schema that allows no unknown keys in a package.
func (v *validator) strictKeys(n *Node) {
	if n.Get("version") == nil {
		v.fault(RuleRequired, n, "missing required key %q in %s", "version", v.subject())
	}
	for i := range n.Members {
		if m := &n.Members[i]; packageShape.find(m.Key) < 0 && !m.Shadowed {
			v.fault(RulePackageKey, keyNode(m), "unknown key %s: this schema allows no unknown keys in a package", jsonpos.Quote(m.Key))
		}
	}
}

// duplicateNames warns about environment variables with the same name: one of them has
// no effect.
func (v *validator) duplicateNames(n *Node) {
	const key = "environmentVariables"
	list := n.Get(key)
	if list == nil {
		return
	}
	seen := make(map[string]bool, len(list.Elements))
	for i := range list.Elements {
		name := list.Elements[i].Get("name")
		text := stringOf(name)
		if text != "" && seen[text] {
			v.path.Key(key)
			v.path.Index(i)
			v.path.Key("name")
			v.warn(RuleDuplicateName, name, "duplicate name %s", jsonpos.Quote(text)).suggest("keep one of them")
			v.path = v.path[:len(v.path)-3]
		}
		seen[text] = true
	}
}

// packageNames returns the names that the variables of a package's url may have.
func packageNames(n *Node) map[string]bool {
	names := make(map[string]bool)
	for _, source := range [...]struct{ list, key string }{
		{"runtimeArguments", "name"},
		{"runtimeArguments", "valueHint"},
		{"packageArguments", "name"},
		{"packageArguments", "valueHint"},
		{"environmentVariables", "name"},
	} {
		if list := n.Get(source.list); list != nil {
			for i := range list.Elements {
				names[stringOf(list.Elements[i].Get(source.key))] = true
			}
		}
	}
	return names
}

// stringOf returns the text of a string, and "" for anything else.
func stringOf(n *Node) string {
	if n == nil || n.Kind != KindString {
		return ""
	}
	return n.Text
}
