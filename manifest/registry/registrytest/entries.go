package registrytest

import (
	"fmt"
	"time"

	"github.com/ashlar-go/ashlar/manifest/registry"
)

// Start is the time at which the first entry of [Entries] was published.
func Start() time.Time { return time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC) }

// Entry returns an active entry that was published at a time.
func Entry(name, version, description string, at time.Time) *registry.Entry {
	e, err := registry.NewEntry(fmt.Appendf(nil, `{"name":%q,"description":%q,"version":%q}`, name, description, version))
	if err != nil {
		panic(err) // the caller's name or version is invalid
	}
	e.Publish(at)
	return e
}

// Entries returns made-up entries of servers with the same number of versions each, one published every second. Every
// entry has a package, a remote and about 1 KB. Every hundredth server is about "harbour", and every server about "tools".
func Entries(servers, versions int) []registry.Entry {
	topics := []string{"files", "weather", "databases", "tickets", "maps", "mail", "calendars", "music", "invoices", "logs"}
	all := make([]registry.Entry, 0, servers*versions)
	for v := range versions {
		for s := range servers {
			name := fmt.Sprintf("com.example.team%03d/server-%05d", s*7%1000, s)
			topic := topics[s%len(topics)]
			if s%100 == 37 {
				topic = "harbour"
			}
			e, err := registry.NewEntry(fmt.Appendf(nil, manifest, name, topic, s, v, s, v))
			if err != nil {
				panic(err) // the template is invalid
			}
			at := Start().Add(time.Duration(len(all)) * time.Second)
			e.Publish(at)
			all = append(all, *e)
		}
	}
	return all
}

const manifest = `{
	"$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
	"name": %q, "description": "Tools for %s, number %d", "version": "1.%d.0", "title": "Made-up server",
	"repository": {"url": "https://github.com/example/server", "source": "github"},
	"packages": [{"registryType": "npm", "registryBaseUrl": "https://registry.npmjs.org", "identifier": "@example/server-%d", "version": "1.%d.0",
		"transport": {"type": "stdio"}, "runtimeHint": "npx",
		"packageArguments": [{"type": "named", "name": "--directory", "description": "Where the files are", "format": "filepath", "isRequired": true}],
		"environmentVariables": [{"name": "API_KEY", "description": "The key of the service", "isSecret": true, "isRequired": true},
			{"name": "LOG_LEVEL", "description": "How much is logged", "default": "info", "choices": ["debug", "info", "warn"]}]}],
	"remotes": [{"type": "streamable-http", "url": "https://tools.example.com/{tenant}/mcp",
		"variables": {"tenant": {"description": "The name of the tenant", "isRequired": true}},
		"headers": [{"name": "Authorization", "description": "A bearer token", "isSecret": true, "isRequired": true}]}]
}`
