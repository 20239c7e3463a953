package manifest

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/ashlar-go/ashlar/internal/grammar"
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
	{PublisherKey, false, publisherMeta},
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
	{"environmentVariables", false, listOf(input(keyValueShape))},
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
		mapOf(input(inputShape))(v, n)
	}
}}}

var (
	remoteHTTPShape = slices.Concat(httpShape, remoteVariables)
	remoteSSEShape  = slices.Concat(sseShape, remoteVariables)
)

var inputShape = shape{
	{"description", false, anyString},
	{"isRequired", false, anyBoolean},
	{"format", false, oneOf(FormatString, FormatNumber, FormatBoolean, FormatFilepath)},
	{"value", false, anyString},
	{"isSecret", false, anyBoolean},
	{"default", false, anyString},
	{"placeholder", false, sinceOctober(anyString)},
	{"choices", false, listOf(anyString)},
}

var (
	variableShape = slices.Concat(inputShape, shape{{"variables", false, mapOf(input(inputShape))}})
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

// input returns the check of an input with the keys of a shape.
func input(s shape) check {
	return func(v *validator, n *Node) {
		if v.object(n, s) {
			v.values(n)
		}
	}
}

func header(v *validator, n *Node) {
	if !v.object(n, keyValueShape) {
		return
	}
	v.values(n)
	v.headerVariables(n)
	for _, key := range [...]string{"value", "default"} {
		if text := n.Get(key); strings.ContainsAny(stringOf(text), "\r\n\x00") {
			v.at(key, func() {
				v.warn(ruleLineBreak, text, "%s has a line break, which a header cannot have", v.subject()).suggest("write it on one line")
			})
		}
	}
}

// headerVariables warns about tokens in the value of a header that its variables do not
// declare. The message does not show them, because they are part of the value.
func (v *validator) headerVariables(n *Node) {
	text := n.Get("value")
	declared := n.Get("variables")
	for _, name := range grammar.Variables(stringOf(text), maxVariables) {
		if grammar.Only(name, "_-. ") && declared.Get(name) == nil {
			v.at("value", func() {
				v.warn(ruleUnknownVariable, text, "%s has a token in braces that its variables do not declare", v.subject()).
					suggest("declare it in the variables of the header, or write its value")
			})
			return
		}
	}
}

// values checks the default and the value of an input.
func (v *validator) values(n *Node) {
	v.defaultChoice(n)
	format := stringOf(n.Get("format"))
	form := ""
	for _, key := range [...]string{"default", "value"} {
		text := n.Get(key)
		switch {
		case text == nil || text.Kind != KindString || key == "value" && strings.Contains(text.Text, "{"):
			continue
		case format == FormatNumber && !grammar.IsNumber(text.Text):
			form = "a decimal number, such as 8080 or 0.5"
		case format == FormatBoolean && !strings.EqualFold(text.Text, "true") && !strings.EqualFold(text.Text, "false"):
			form = "true or false"
		default:
			v.stub(n, key)
			continue
		}
		v.at(key, func() {
			v.warn(ruleFormat, text, "%s does not have the format of the input, which is %s", v.subject(), format).
				suggest("write %s, or use another format", form)
		})
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
		v.warn(ruleDefaultChoice, initial, "%s is not one of the choices", v.subject()).suggest("add it to the choices, or use another default")
	})
}

func argument(v *validator, n *Node) {
	if !v.mustBe(n, KindObject) {
		return
	}
	switch ArgumentType(v.unionType(n, kindOf(n), string(PositionalArgument), string(NamedArgument))) {
	case PositionalArgument:
		v.object(n, positionalShape)
		if n.Get("value") == nil && v.get(n, "valueHint") == nil {
			v.fault(rulePositionalValue, n, "%s has neither a value nor a valueHint", v.subject()).
				suggest("add a value, which is used unchanged, or a valueHint, which names what users provide")
		}
	case NamedArgument:
		v.object(n, namedShape)
		v.flagInValue(n)
	default:
		v.object(n, argumentShape)
	}
	v.values(n)
}

// kindOf tells the type of an argument by its other keys, or returns "".
func kindOf(n *Node) string {
	switch {
	case stringOf(n.Get("name")) != "":
		return string(NamedArgument)
	case n.Get("value") != nil || n.Get("valueHint") != nil:
		return string(PositionalArgument)
	}
	return ""
}

// transportOf tells the type of a transport by its url, or returns "".
func transportOf(n *Node) string {
	switch link := strings.TrimRight(stringOf(n.Get("url")), "/"); {
	case link == "":
		return ""
	case strings.HasSuffix(link, "/sse"):
		return string(SSE)
	}
	return string(StreamableHTTP)
}

func localTransport(v *validator, n *Node) {
	if !v.mustBe(n, KindObject) {
		return
	}
	switch TransportType(v.unionType(n, cmp.Or(transportOf(n), string(Stdio)), string(Stdio), string(StreamableHTTP), string(SSE))) {
	case Stdio:
		v.object(n, stdioShape)
		if link := n.Get("url"); v.registry && link != nil && !(link.Kind == KindString && link.Text == "") {
			v.at("url", func() {
				v.fault(ruleStdioURL, link, "a stdio transport must not have a url").suggest("remove it, or use streamable-http or sse")
			})
		}
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
	switch TransportType(v.unionType(n, transportOf(n), string(StreamableHTTP), string(SSE))) {
	case StreamableHTTP:
		v.object(n, remoteHTTPShape)
	case SSE:
		v.object(n, remoteSSEShape)
	default:
		return
	}
	variables := n.Get("variables")
	u := v.urlVariables(n, func(name string) bool { return variables.Get(name) != nil }, "the variables of the remote")
	if u != nil {
		v.remoteHost(n.Get("url"), u)
	}
}

func packageObject(v *validator, n *Node) {
	if !v.object(n, packageShape) {
		return
	}
	label := stringOf(v.get(n, "registryType"))
	if v.get(n, "fileSha256") == nil && v.isBundle(strings.ToLower(label)) {
		severity := v.prose
		if label != strings.ToLower(label) {
			severity = Warning // an error once the label is corrected
		}
		v.report(severity, ruleBundleSHA256, n, "%s is a bundle file (registryType %s) without fileSha256", v.subject(), jsonpos.Quote(label)).
			suggest("add the SHA-256 of the file as 64 lowercase hexadecimal characters")
	}
	if v.strictPackage {
		v.strictKeys(n)
	}
	v.publicPackage(n)
	v.variableNames(n)
	v.runtimeHint(n, label)
	v.containerOptions(n, label)
	if t := n.Get("transport"); t != nil && stringOf(t.Get("type")) != string(Stdio) {
		v.at("transport", func() {
			names := sync.OnceValue(func() map[string]bool { return v.packageNames(n) })
			v.urlVariables(t, func(name string) bool { return names()[name] }, "the arguments and environment variables of the package")
		})
	}
}

func (v *validator) isBundle(label string) bool {
	if v.bundleLabels == nil {
		return label == MCPB
	}
	return slices.Contains(v.bundleLabels, label)
}

// get finds the value of a key by its present name, or by its older one under a profile
// that has it.
func (v *validator) get(n *Node, name string) *Node {
	found := n.Get(name)
	if found == nil && v.underscores {
		found = n.Get(oldName(name))
	}
	return found
}

// runtimeHint warns about arguments of a command that is not named.
func (v *validator) runtimeHint(n *Node, label string) {
	list := v.get(n, "runtimeArguments")
	if list == nil || len(list.Elements) == 0 || v.get(n, "runtimeHint") != nil {
		return
	}
	p := v.warn(ruleRuntimeHint, n, "%s has runtimeArguments without a runtimeHint: clients choose the command that gets them", v.subject())
	switch usual := map[string]string{NPM: "npx", PyPI: "uvx", OCI: "docker", NuGet: "dnx"}[label]; usual {
	case "":
		p.suggest("add the command as runtimeHint")
	default:
		p.suggest("add the command, such as \"runtimeHint\": %q", usual)
	}
}

// strictKeys applies the schema that allows no unknown keys in a package.
func (v *validator) strictKeys(n *Node) {
	if n.Get("version") == nil {
		v.fault(ruleRequired, n, "missing required key %q in %s", "version", v.subject())
	}
	for i := range n.Members {
		if m := &n.Members[i]; packageShape.find(v.known(m.Key)) < 0 && !m.Shadowed {
			v.fault(rulePackageKey, keyNode(m), "unknown key %s: this schema allows no unknown keys in a package", jsonpos.Quote(m.Key))
		}
	}
}

// variableNames warns about environment variables with the same name, of which one has no effect, without a name, which cannot
// be set, and with the name of a template.
func (v *validator) variableNames(n *Node) {
	key := "environmentVariables"
	list := n.Get(key)
	if list == nil {
		key = v.present(key)
		list = n.Get(key)
	}
	if list == nil {
		return
	}
	const few = 16 // that are compared with each other
	var seen map[string]bool
	if len(list.Elements) > few {
		seen = make(map[string]bool, len(list.Elements))
	}
	for i := range list.Elements {
		name := list.Elements[i].Get("name")
		text := stringOf(name)
		duplicate := seen[text]
		for j := 0; seen == nil && j < i && !duplicate; j++ {
			duplicate = stringOf(list.Elements[j].Get("name")) == text
		}
		duplicate = duplicate && text != ""
		blank := name != nil && name.Kind == KindString && strings.TrimSpace(text) == ""
		if duplicate || blank || strings.HasPrefix(text, "YOUR_") {
			v.path.Key(key)
			v.path.Index(i)
			v.path.Key("name")
			switch {
			case duplicate:
				v.warn(ruleDuplicateName, name, "duplicate name %s", jsonpos.Quote(text)).suggest("keep one of them")
			case blank:
				v.warn(ruleVariableName, name, "%s is empty, so that the variable cannot be set", v.subject()).suggest("write its name, or remove the variable").
					apply(removalOfElement(list, i))
			default:
				p := v.placeholder(name, "the name that the server reads")
				if stringOf(list.Elements[i].Get("description")) == templateVariable {
					p.suggest("remove the variable: it is that of the template for new manifests").apply(removalOfElement(list, i))
				}
			}
			v.path = v.path[:len(v.path)-3]
		}
		if seen != nil {
			seen[text] = true
		}
	}
}

// templateVariable describes the variable YOUR_API_KEY in the template of the public registry's publisher.
const templateVariable = "Your API key for the service"

// packageNames returns the names that variables in the url of a package may have.
func (v *validator) packageNames(n *Node) map[string]bool {
	names := make(map[string]bool)
	for _, source := range [...]struct{ list, key string }{
		{"runtimeArguments", "name"},
		{"runtimeArguments", "valueHint"},
		{"packageArguments", "name"},
		{"packageArguments", "valueHint"},
		{"environmentVariables", "name"},
	} {
		if list := v.get(n, source.list); list != nil {
			for i := range list.Elements {
				names[stringOf(v.get(&list.Elements[i], source.key))] = true
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
