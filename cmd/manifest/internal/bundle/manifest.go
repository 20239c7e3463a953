package bundle

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/internal/grammar"
	"github.com/ashlar-go/ashlar/internal/jsonpos"
	"github.com/ashlar-go/ashlar/manifest"
	"github.com/ashlar-go/ashlar/manifest/launch"
)

// Manifest has the parts of a bundle's manifest.json that start the server.
type Manifest struct {
	ManifestVersion string `json:"manifest_version"` // 0.1 to 0.4
	DXTVersion      string `json:"dxt_version"`      // its name in the first files of 0.1
	Name            string `json:"name"`
	DisplayName     string `json:"display_name"`
	Version         string `json:"version"`
	Description     string `json:"description"`
	Server          Server `json:"server"`
	Compatibility   struct {
		Platforms []string          `json:"platforms"` // darwin, win32, linux; empty means all
		Runtimes  map[string]string `json:"runtimes"`  // version ranges of node and python
	} `json:"compatibility"`
	// Config are the inputs in the order of the document. One that looks like a secret is Sensitive.
	Config []Config `json:"-"`
	// Notices name unknown keys and inputs that look like secrets.
	Notices []launch.Notice `json:"-"`
}

// Server says how the server is started.
type Server struct {
	Type       string   `json:"type"`        // node, python, binary, uv
	EntryPoint string   `json:"entry_point"` // a file of the bundle
	Command    *Command `json:"mcp_config"`
}

// Command is a command with an environment. Strings may refer to inputs and directories.
type Command struct {
	Command   string             `json:"command"`
	Args      []string           `json:"args"`
	Env       map[string]string  `json:"env"`
	Platforms map[string]Command `json:"platform_overrides"`
}

// Config is an input of the user_config.
type Config struct {
	Key         string          `json:"-"`
	Type        string          `json:"type"` // string, number, boolean, directory, file
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Required    bool            `json:"required"`
	Multiple    bool            `json:"multiple"`
	Sensitive   bool            `json:"sensitive"`
	Default     json.RawMessage `json:"default"`
	Min         *float64        `json:"min"`
	Max         *float64        `json:"max"`
}

// faults collects problems of a manifest.
type faults struct{ all launch.Faults }

func (f *faults) add(pointer, suggestion, format string, args ...any) {
	f.all = append(f.all, launch.Fault{Kind: launch.FaultManifest, Pointer: pointer, Message: fmt.Sprintf(format, args...), Suggestion: suggestion})
}

// err returns the faults as an error.
func (f *faults) err() error {
	if len(f.all) == 0 {
		return nil
	}
	return f.all
}

// parse reads a manifest.json.
func parse(text []byte) (*Manifest, error) {
	d, err := manifest.Parse(text, nil)
	if err != nil {
		return nil, fmt.Errorf("manifest.json: %w", err)
	}
	m := &Manifest{}
	if err := json.Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("manifest.json: %w", err)
	}
	m.unknownKeys(d.Root(), "", "")
	configs := d.Root().Get("user_config")
	if configs == nil {
		return m, nil
	}
	for i := range configs.Members {
		c := Config{Key: configs.Members[i].Key}
		value := configs.Members[i].Value
		if err := json.Unmarshal([]byte(d.Text()[value.Start:value.End]), &c); err != nil {
			return nil, fmt.Errorf("manifest.json: /user_config/%s: %w", jsonpos.EscapeToken(c.Key), err)
		}
		if m.looksSecret(&c, &value) {
			c.Sensitive = true
			m.Notices = append(m.Notices, launch.Notice{
				Severity: launch.SeverityInfo, Pointer: "/user_config/" + jsonpos.EscapeToken(c.Key),
				Message: fmt.Sprintf("%s looks like a secret and is hidden, although it is not sensitive", jsonpos.Quote(c.Key)),
			})
		}
		m.Config = append(m.Config, c)
	}
	return m, nil
}

// versions are those of the manifest that are read.
var versions = []string{"0.1", "0.2", "0.3", "0.4"}

// types are the types of inputs with the format of package launch.
var types = map[string]string{"string": "string", "number": "number", "boolean": "boolean", "directory": "filepath", "file": "filepath"}

// check reports what is wrong with the manifest.
func (b *Bundle) check() error {
	m, f := b.Manifest, &faults{}
	version := cmp.Or(m.ManifestVersion, m.DXTVersion)
	if !slices.Contains(versions, version) {
		f.add("/manifest_version", "use "+grammar.Alternatives(versions), "manifest_version %s is not known", jsonpos.Quote(version))
	}
	for _, required := range []struct{ key, value string }{{"name", m.Name}, {"version", m.Version}} {
		if required.value == "" {
			f.add("/"+required.key, "", "%s is missing", required.key)
		}
	}
	b.checkServer(f)
	for i := range m.Config {
		c := &m.Config[i]
		at := "/user_config/" + jsonpos.EscapeToken(c.Key)
		if c.Key == "" || !grammar.Only(c.Key, "_-.") {
			f.add(at, "use letters, digits, dots, dashes and underscores", "the key %s cannot be referred to", jsonpos.Quote(c.Key))
		}
		if types[c.Type] == "" {
			f.add(at+"/type", "use string, number, boolean, directory or file", "unknown type %s", jsonpos.Quote(c.Type))
		}
		if _, err := c.defaults(); err != nil {
			f.add(at+"/default", "", "the default %v", err)
		}
	}
	if len(f.all) > 0 { // one of them may be why
		for _, n := range m.Notices {
			f.add(n.Pointer, "", "%s", n.Message)
		}
	}
	return f.err()
}

func (b *Bundle) checkServer(f *faults) {
	s := &b.Manifest.Server
	if !slices.Contains([]string{"node", "python", "binary", "uv"}, s.Type) {
		f.add("/server/type", "use node, python, binary or uv", "unknown type %s", jsonpos.Quote(s.Type))
	}
	switch {
	case s.EntryPoint == "":
		f.add("/server/entry_point", "", "entry_point is missing")
	case !fs.ValidPath(clean(s.EntryPoint)) || b.files[clean(s.EntryPoint)] == nil && b.files[clean(s.EntryPoint)+".exe"] == nil:
		f.add("/server/entry_point", "", "entry_point %s is not a file of the bundle", jsonpos.Quote(s.EntryPoint))
	}
	if s.Command == nil && s.Type != "uv" {
		f.add("/server/mcp_config", "", "mcp_config is missing")
	}
	if s.Command != nil && s.Command.Command == "" {
		f.add("/server/mcp_config/command", "", "command is missing")
	}
}

// clean returns a path within the bundle without "./".
func clean(name string) string { return path.Clean(strings.TrimPrefix(name, "./")) }

// program returns the name of the file that a binary server starts, "" if that is none of the
// bundle.
func (b *Bundle) program() string {
	if b.Manifest.Server.Command == nil {
		return ""
	}
	name := b.Manifest.Server.Command.on(b.opts.GOOS).Command
	name = clean(strings.TrimPrefix(strings.TrimPrefix(name, "${__dirname}"), "/"))
	if b.files[name] == nil && b.opts.GOOS == "windows" {
		name += ".exe"
	}
	if b.files[name] == nil {
		return ""
	}
	return name
}

// on returns the command on an operating system.
func (c *Command) on(goos string) Command {
	own := c.Platforms[platform(goos)]
	merged := Command{Command: cmp.Or(own.Command, c.Command), Args: c.Args, Env: map[string]string{}}
	if own.Args != nil {
		merged.Args = own.Args
	}
	maps.Copy(merged.Env, c.Env)
	maps.Copy(merged.Env, own.Env)
	return merged
}

// defaults returns the values of the default as strings.
func (c *Config) defaults() ([]string, error) {
	if len(c.Default) == 0 || string(c.Default) == "null" {
		return nil, nil
	}
	var list []json.RawMessage
	if json.Unmarshal(c.Default, &list) != nil {
		list = []json.RawMessage{c.Default}
	} else if !c.Multiple {
		return nil, fmt.Errorf("is a list, and multiple is not set")
	}
	var all []string
	for _, v := range list {
		var s string
		switch {
		case json.Unmarshal(v, &s) == nil:
		case c.Type == "number" || c.Type == "boolean":
			s = string(v)
		default:
			return nil, fmt.Errorf("is not a string")
		}
		all = append(all, s)
	}
	return all, nil
}
