package client

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/internal/suggest"
	"github.com/ashlar-go/ashlar/manifest"
)

// Format is the format of a configuration file.
type Format string

// The formats.
const (
	JSON Format = "json" // with comments and trailing commas
	TOML Format = "toml"
	YAML Format = "yaml"
)

// Program is a program that uses tool servers. Get one from [Programs] or [Find].
type Program struct {
	ID     string // such as "vscode"
	Title  string // such as "Visual Studio Code"
	Format Format
	// Project is the path of the file within a project, with slashes, "" if there is none.
	Project string
	// User is the path of the file of a user by operating system as in runtime.GOOS, "" for any
	// other. A path begins with ~ (home) or %APPDATA%.
	User map[string]string
	// Checked is the version that the row of the table was compared with: that of a program that was run, or the date of the
	// documentation of one that was not.
	Checked string

	refuses    syntax                            // what of JSON with comments the program does not read
	key        string                            // of the object with the servers
	links      map[manifest.TransportType]string // the key of the url by transport; others are not supported
	types      map[manifest.TransportType]string // the value of the key "type", if the program has one
	reference  func(name string) string          // how a string refers to a variable or an input; nil: not at all
	expands    *regexp.Regexp                    // what the program would replace in a string
	inputs     bool                              // references are to inputs that the program asks for
	inherits   bool                              // a server gets the environment of the program
	named      string                            // the key with the names of variables that are passed on
	bearer     string                            // the key with the variable of the bearer token
	variables  string                            // the key of the headers whose values are variables
	headers    string                            // the key of the headers
	command    string                            // the key of the command
	env        string                            // the key of the environment
	constants  []member                          // what every entry has
	namedEntry bool                              // an entry repeats its name
}

// syntax is a set of things that RFC 8259 does not allow in JSON.
type syntax uint8

const (
	comments syntax = 1 << iota
	commas          // before a closing bracket
	mark            // a byte order mark
)

// dollar matches what most programs replace: ${NAME}, ${NAME:-default}, ${env:NAME}, ${input:ID}.
var dollar = regexp.MustCompile(`\$\{[^}]*\}`)

// dollarBare also has $NAME.
var dollarBare = regexp.MustCompile(`\$\{[^}]*\}|\$[A-Za-z_][A-Za-z0-9_]*`)

func braces(name string) string    { return "${" + name + "}" }
func envBraces(name string) string { return "${env:" + name + "}" }

// both are the transports of a program that has one key for the url.
func both(key string) map[manifest.TransportType]string {
	return map[manifest.TransportType]string{manifest.StreamableHTTP: key, manifest.SSE: key}
}

// streamable are the transports of a program that no longer reads the older one.
func streamable(key string) map[manifest.TransportType]string {
	return map[manifest.TransportType]string{manifest.StreamableHTTP: key}
}

var httpTypes = map[manifest.TransportType]string{manifest.StreamableHTTP: "http", manifest.SSE: "sse"}

const documented = "documentation, 2026-11"

// Programs returns the programs in the order of their ids. A program that differs from another one in its path alone belongs
// into the row of that one.
func Programs() []*Program {
	return []*Program{
		{
			ID: "claude", Title: "Claude Code", Format: JSON, Checked: "2.1.197", refuses: comments | commas, Project: ".mcp.json", User: map[string]string{"": "~/.claude.json"},
			key: "mcpServers", links: both("url"), types: httpTypes, reference: braces, expands: dollar, inherits: true,
		},
		{
			ID: "claude-desktop", Title: "Claude Desktop", Format: JSON, Checked: documented, refuses: comments | commas,
			User: map[string]string{
				"darwin": "~/Library/Application Support/Claude/claude_desktop_config.json", "windows": "%APPDATA%/Claude/claude_desktop_config.json",
				"": "~/.config/Claude/claude_desktop_config.json",
			},
			key: "mcpServers",
		},
		{ // #nosec G101 -- the name of a key, not a token
			ID: "codex", Title: "Codex", Format: TOML, Checked: "0.171.0", Project: ".codex/config.toml", User: map[string]string{"": "~/.codex/config.toml"},
			key: "mcp_servers", links: streamable("url"), named: "env_vars", bearer: "bearer_token_env_var", variables: "env_http_headers", headers: "http_headers",
		},
		{
			ID: "cursor", Title: "Cursor", Format: JSON, Checked: documented, Project: ".cursor/mcp.json", User: map[string]string{"": "~/.cursor/mcp.json"},
			key: "mcpServers", links: both("url"), reference: envBraces, expands: dollar, inherits: true,
		},
		{
			ID: "gemini", Title: "Gemini CLI", Format: JSON, Checked: "0.61.0", refuses: commas | mark, Project: ".gemini/settings.json", User: map[string]string{"": "~/.gemini/settings.json"},
			key: "mcpServers", links: map[manifest.TransportType]string{manifest.StreamableHTTP: "httpUrl", manifest.SSE: "url"}, reference: braces, expands: dollarBare,
		},
		{
			ID: "goose", Title: "Goose", Format: YAML, Checked: documented,
			User: map[string]string{"windows": "%APPDATA%/Block/goose/config/config.yaml", "": "~/.config/goose/config.yaml"},
			key:  "extensions", links: streamable("uri"), types: map[manifest.TransportType]string{manifest.Stdio: "stdio", manifest.StreamableHTTP: "streamable_http"},
			reference: braces, expands: dollarBare, named: "env_keys", command: "cmd", env: "envs",
			constants: []member{{"enabled", true}, {"timeout", 300}}, namedEntry: true,
		},
		{
			ID: "jetbrains", Title: "JetBrains Junie", Format: JSON, Checked: documented, refuses: comments | commas, Project: ".junie/mcp/mcp.json", User: map[string]string{"": "~/.junie/mcp/mcp.json"},
			key: "mcpServers", inherits: true,
		},
		{
			ID: "vscode", Title: "Visual Studio Code", Format: JSON, Checked: documented, Project: ".vscode/mcp.json",
			User: map[string]string{
				"darwin": "~/Library/Application Support/Code/User/mcp.json", "windows": "%APPDATA%/Code/User/mcp.json", "": "~/.config/Code/User/mcp.json",
			},
			key: "servers", links: both("url"),
			types:     map[manifest.TransportType]string{manifest.Stdio: "stdio", manifest.StreamableHTTP: "http", manifest.SSE: "sse"},
			reference: func(id string) string { return "${input:" + id + "}" }, expands: dollar, inputs: true,
		},
		{
			ID: "windsurf", Title: "Windsurf", Format: JSON, Checked: documented, refuses: comments | commas, User: map[string]string{"": "~/.codeium/windsurf/mcp_config.json"},
			key: "mcpServers", links: both("serverUrl"), reference: envBraces, expands: dollar, inherits: true,
		},
		{
			ID: "zed", Title: "Zed", Format: JSON, Checked: documented, Project: ".zed/settings.json",
			User: map[string]string{"windows": "%APPDATA%/Zed/settings.json", "": "~/.config/zed/settings.json"},
			key:  "context_servers", links: streamable("url"), inherits: true, constants: []member{{"source", "custom"}},
		},
	}
}

// Find returns the program with an id.
func Find(id string) (*Program, error) {
	all := Programs()
	if i := slices.IndexFunc(all, func(p *Program) bool { return p.ID == id }); i >= 0 {
		return all[i], nil
	}
	var ids []string
	for _, p := range all {
		ids = append(ids, p.ID)
	}
	advice := "use " + strings.Join(ids, ", ")
	if meant := suggest.Closest(id, ids, 2); meant != "" {
		advice = fmt.Sprintf("did you mean %q?", meant)
	}
	return nil, fmt.Errorf("unknown program %q: %s", id, advice)
}

// File returns the path of the file of a user, for an operating system as in runtime.GOOS. home
// and appData are the directories that ~ and %APPDATA% stand for.
func (p *Program) File(goos, home, appData string) string {
	file, ok := p.User[goos]
	if !ok {
		file = p.User[""]
	}
	if rest, ok := strings.CutPrefix(file, "~/"); ok {
		return path.Join(home, rest)
	}
	return path.Join(appData, strings.TrimPrefix(file, "%APPDATA%/"))
}
