package bundle

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/internal/grammar"
	"github.com/ashlar-go/ashlar/internal/jsonpos"
	"github.com/ashlar-go/ashlar/internal/suggest"
	"github.com/ashlar-go/ashlar/manifest"
	"github.com/ashlar-go/ashlar/manifest/launch"
)

// known are the keys of manifest.json, version 0.4, by the pointer of the object, in which * is any key or index. Objects that
// are not here have free keys.
var known = map[string]string{
	"": `$schema manifest_version dxt_version name display_name version description long_description author repository homepage
		documentation support icon icons screenshots localization server tools tools_generated prompts prompts_generated keywords
		license privacy_policies compatibility user_config _meta`,
	"/author":            "name email url",
	"/repository":        "type url",
	"/icons/*":           "src size theme",
	"/localization":      "resources default_locale",
	"/server":            "type entry_point mcp_config",
	"/server/mcp_config": "command args env platform_overrides",
	"/server/mcp_config/platform_overrides/*": "command args env",
	"/tools/*":                "name description",
	"/prompts/*":              "name description arguments text",
	"/compatibility/runtimes": "python node",
	"/user_config/*":          "type title description required default multiple sensitive min max",
}

// maxNotices limits the notices about keys.
const maxNotices = 100

// unknownKeys adds a notice for each key that no version has, below a value with a pointer and a pattern of known.
func (m *Manifest) unknownKeys(n *manifest.Node, pointer, pattern string) {
	names, closed := known[pattern]
	keys := strings.Fields(names)
	for i := range n.Members {
		key := n.Members[i].Key
		below := pointer + "/" + jsonpos.EscapeToken(key)
		if closed && !slices.Contains(keys, key) {
			note := launch.Notice{Severity: launch.SeverityWarning, Pointer: below, Message: fmt.Sprintf("unknown key %s has no effect", jsonpos.Quote(key))}
			if meant := suggest.Closest(key, keys, 2); meant != "" && len(key) < grammar.MaxKey {
				note.Message += fmt.Sprintf(": did you mean %q?", meant)
			}
			if len(m.Notices) < maxNotices {
				m.Notices = append(m.Notices, note)
			}
			continue
		}
		next := pattern + "/" + key
		if pattern == "/user_config" || pattern == "/server/mcp_config/platform_overrides" {
			next = pattern + "/*"
		}
		m.unknownKeys(&n.Members[i].Value, below, next)
	}
	for i := range n.Elements {
		m.unknownKeys(&n.Elements[i], fmt.Sprintf("%s/%d", pointer, i), pattern+"/*")
	}
}

// secretName matches names and titles of secrets, such as api_key, "API key" and GITHUB_TOKEN, but not max_tokens.
var secretName = regexp.MustCompile(`(?i)(api[ _-]?key|access[ _-]?key|private[ _-]?key|secret|token|password|passphrase|credentials?)$`)

// looksSecret reports whether a text input is a secret that its manifest does not call sensitive: by its name, its title, a key
// that may mean sensitive, or the variable of the environment that has it.
func (m *Manifest) looksSecret(c *Config, n *manifest.Node) bool {
	if c.Sensitive || c.Type != "string" {
		return false
	}
	misspelt := func(member manifest.Member) bool {
		name := strings.ToLower(member.Key)
		return member.Value.Text == "true" && (strings.Contains(name, "secret") || suggest.Closest(name, []string{"sensitive", "password"}, 2) != "")
	}
	if secretName.MatchString(c.Key) || secretName.MatchString(c.Title) || slices.ContainsFunc(n.Members, misspelt) {
		return true
	}
	if m.Server.Command != nil {
		for name, value := range m.Server.Command.Env {
			if secretName.MatchString(name) && strings.Contains(value, reference+c.Key+"}") {
				return true
			}
		}
	}
	return false
}
