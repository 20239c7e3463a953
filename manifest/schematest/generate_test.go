package schematest_test

import (
	"math/rand/v2"
	"strings"
)

type (
	object = map[string]any
	array  = []any
)

// generator generates mostly valid documents with some invalid values. The same seed
// generates the same documents.
type generator struct{ *rand.Rand }

// texts are values at the limits of some rule.
var texts = [...]string{
	"", "a", "com.example/weather", "a/b", "a/b/c", "a/", "/b", "a/b\n", "ä/b", "a_b/c", "../..", "a/_",
	strings.Repeat("x", 100), strings.Repeat("x", 101), strings.Repeat("😀", 100), strings.Repeat("😀", 101),
	strings.Repeat("9", 255), strings.Repeat("9", 256), "a/" + strings.Repeat("x", 198), "a/" + strings.Repeat("x", 199),
	"latest", "LATEST", "1.0.0", "^1.0.0", "https://" + strings.Repeat("x", 247), "https://" + strings.Repeat("x", 248),
	"https://e.com", "http://e.com/a?b#c", "https://", "http:/e.com", "HTTPS://e.com", "https://e.com/ x", "https://e.com/\u00a0", "https://e.com/\u0085",
	"https://e.com/\v", "https://e.com/\ufeff", "https://e.com/\u2028", "https://e.com/\u200b", "https://é.com", "https://e.com/%zz", "https://e.com/%20",
	"https://[::1]:80/", "https://[::1", "https://[1.2.3.4]/", "https://[v1.a:b]", "https://[v1.%41]", "https://u:p@e.com:/", "https://a@b@c", "https://e.com:8x", "https://:::",
	"urn:a:b", "mailto:a@e.com", "file:///etc", "a:", ":", "1a:b", "a+.-1:b", "https://e.com/{x}", "https://e.com/#a#b", "https://e.com/?a?b", "a:b|c", "x:/", "x://", "x:///", "x:[",
	"{a}", "{a}/b", "{_1}x", "{1}", "{a-b}", "{}", "{a", "{a} b", "{a}{b}", "x{a}", "{{a}}", "{é}",
	"image/png", "image/jpeg", "image/svg+xml", "image/gif", "light", "dark", "Dark", "48x48", "48X48", "any", "0x0", "x48", "48x", "٤x٤", "48x48\n",
	strings.Repeat("0af", 21) + "1", strings.Repeat("0AF", 21) + "1", strings.Repeat("0", 63), strings.Repeat("0", 64) + "\n", strings.Repeat("g", 64),
	"string", "number", "boolean", "filepath", "integer", "positional", "named", "stdio", "streamable-http", "sse", "Stdio", "npm", "mcpb",
}

// keys are known and unknown keys.
var keys = [...]string{
	"$schema", "_meta", "name", "title", "description", "version", "websiteUrl", "icons", "repository", "packages", "remotes",
	"src", "mimeType", "sizes", "theme", "url", "source", "id", "subfolder", "registryType", "identifier", "transport",
	"registryBaseUrl", "fileSha256", "runtimeHint", "runtimeArguments", "packageArguments", "environmentVariables",
	"isRequired", "format", "value", "isSecret", "default", "placeholder", "choices", "variables", "valueHint", "isRepeated",
	"type", "headers", "Name", "unknown", "",
	"io.neutral.registry/publisher-provided", "io.modelcontextprotocol.registry/publisher-provided",
}

// borders are values at the limits of the rules of one key.
var borders = map[string][]any{
	"version":    {"latest", "LATEST", "", strings.Repeat("1", 255), strings.Repeat("1", 256), strings.Repeat("é", 255), nil},
	"fileSha256": {strings.Repeat("0af", 21) + "1", strings.Repeat("0aF", 21) + "1", strings.Repeat("0", 63), strings.Repeat("0", 65), strings.Repeat("0", 64) + "\n", strings.Repeat("g", 64)},
	"mimeType":   {"image/png", "image/jpeg", "image/jpg", "image/svg+xml", "image/webp", "image/gif", "Image/png", ""},
	"sizes":      {array{"48X48"}, array{"48x48x"}, array{"x48"}, array{"48x"}, array{"٤x٤"}, array{"Any"}, array{"any", 1}, array{"1x1\n"}, "any"},
	"theme":      {"light", "dark", "Dark", ""},
	"format":     {"string", "number", "boolean", "filepath", "Number", ""},
	"type":       {"positional", "named", "stdio", "streamable-http", "sse", "SSE", nil},
	"choices":    {array{"a", nil}, array{1}, array{}, "a"},
	"src":        {"http://e.com", "https://" + strings.Repeat("x", 247), "https://" + strings.Repeat("x", 248), "//e.com"},
	"valueHint":  {nil, "", 5},
	"value":      {nil, "", 5},
	"url":        {"{-a}", "{a-b}", "{1}", "{_1}x", "{}", "{a", "{a} b", "{é}", "https://", "ftp://e.com", "https://e.com/\v", "https://e.com/\u00a0", "http:/e.com", "{a}"},
}

func (g generator) text() string { return texts[g.IntN(len(texts))] }

// anything generates a value that may be invalid.
func (g generator) anything() any {
	switch g.IntN(12) {
	case 0:
		return nil
	case 1:
		return g.IntN(2) == 0
	case 2:
		return float64(g.IntN(3))
	case 3:
		return array{}
	case 4:
		return object{}
	case 5:
		return array{g.text()}
	case 6:
		return object{keys[g.IntN(len(keys))]: g.text()}
	case 7:
		return g.argument()
	case 8:
		return array{g.keyValue()}
	}
	return g.text()
}

// with adds a key in one of three cases.
func (g generator) with(o object, key string, value func() any) {
	if g.IntN(3) == 0 {
		o[key] = value()
	}
}

func (g generator) input() object {
	o := object{}
	g.with(o, "description", func() any { return g.text() })
	g.with(o, "isRequired", func() any { return true })
	g.with(o, "format", func() any { return "number" })
	g.with(o, "value", func() any { return g.text() })
	g.with(o, "isSecret", func() any { return false })
	g.with(o, "default", func() any { return g.text() })
	g.with(o, "choices", func() any { return array{g.text()} })
	return o
}

func (g generator) withVariables() object {
	o := g.input()
	g.with(o, "variables", func() any { return object{g.text(): g.input()} })
	return o
}

func (g generator) keyValue() any {
	o := g.withVariables()
	o["name"] = g.text()
	return o
}

func (g generator) argument() any {
	o := g.withVariables()
	g.with(o, "isRepeated", func() any { return true })
	if g.IntN(2) == 0 {
		o["type"] = "named"
		o["name"] = g.text()
		g.with(o, "valueHint", g.anything)
		return o
	}
	o["type"] = "positional"
	o["valueHint"] = g.text()
	g.with(o, "name", g.anything)
	return o
}

func (g generator) transport(remote bool) any {
	kinds := array{"streamable-http", "sse", "stdio"}
	o := object{"type": kinds[g.IntN(3)]}
	if remote {
		o["type"] = kinds[g.IntN(2)]
		g.with(o, "variables", func() any { return object{"a": g.input()} })
	}
	if o["type"] != "stdio" {
		o["url"] = "https://{host}:80/mcp"
		g.with(o, "headers", func() any { return array{g.keyValue()} })
	} else {
		g.with(o, "url", g.anything)
	}
	return o
}

func (g generator) packageObject() any {
	o := object{"registryType": "npm", "identifier": g.text(), "transport": g.transport(false)}
	g.with(o, "version", func() any { return "1.0.0" })
	g.with(o, "registryBaseUrl", func() any { return "https://e.com" })
	g.with(o, "fileSha256", func() any { return strings.Repeat("0a", 32) })
	g.with(o, "runtimeHint", func() any { return g.text() })
	g.with(o, "runtimeArguments", func() any { return array{g.argument(), g.argument()} })
	g.with(o, "packageArguments", func() any { return array{g.argument()} })
	g.with(o, "environmentVariables", func() any { return array{g.keyValue()} })
	return o
}

func (g generator) icon() any {
	o := object{"src": "https://e.com/i.png"}
	g.with(o, "mimeType", func() any { return borders["mimeType"][g.IntN(5)] })
	g.with(o, "sizes", func() any { return array{"any", "16x16"} })
	g.with(o, "theme", func() any { return "dark" })
	return o
}

// document generates a document with at most two invalid values.
func (g generator) document() object {
	o := object{"name": "com.example/weather", "description": "d", "version": "1.0.0"}
	g.with(o, "title", func() any { return "t" })
	g.with(o, "$schema", func() any { return "https://e.com" })
	g.with(o, "websiteUrl", func() any { return "https://e.com" })
	g.with(o, "icons", func() any { return array{g.icon()} })
	g.with(o, "repository", func() any { return object{"url": "https://e.com", "source": "s", "id": "1"} })
	g.with(o, "packages", func() any { return array{g.packageObject()} })
	g.with(o, "remotes", func() any { return array{g.transport(true)} })
	g.with(o, "_meta", func() any { return object{keys[len(keys)-1-g.IntN(3)]: object{}} })
	for range g.IntN(3) {
		g.spoil(o)
	}
	return o
}

// spoil makes one value invalid, at any depth.
func (g generator) spoil(o object) {
	at := g.IntN(len(o) + 1)
	for _, key := range keys { // the order of a map does not depend on the seed
		value, there := o[key]
		if !there {
			continue
		}
		if at--; at >= 0 {
			continue
		}
		if below := g.below(value); len(below) > 0 && g.IntN(5) > 0 {
			g.spoil(below)
		} else if g.IntN(4) == 0 {
			delete(o, key)
		} else if b := borders[key]; b != nil && g.IntN(4) > 0 {
			o[key] = b[g.IntN(len(b))]
		} else {
			o[key] = g.anything()
		}
		return
	}
	o[keys[g.IntN(len(keys))]] = g.anything()
}

// below returns an object that is the value or is within it.
func (g generator) below(value any) object {
	if l, ok := value.(array); ok && len(l) > 0 {
		value = l[g.IntN(len(l))]
	}
	o, _ := value.(object)
	return o
}
