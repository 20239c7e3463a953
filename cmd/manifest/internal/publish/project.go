package publish

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/ashlar-go/ashlar/internal/grammar"
	"github.com/ashlar-go/ashlar/manifest"
)

// maxFile is the largest file of a project.
const maxFile = 4 << 20

// Project has the contents of the package files in a directory.
type Project struct {
	Dir      string
	Packages []Package
	// Repository is the https url of the git remote "origin", "" if there is none.
	Repository string
	// Subfolder is the path of Dir within the repository.
	Subfolder string

	readme string // the name of the README, "" if there is none
	texts  map[string][]byte
}

// Package is a file that describes a package.
type Package struct {
	File string // relative to the directory
	Type string // npm, pypi, cargo, nuget or oci
	// What the file says; "" for what it does not.
	Name, Version, Title, Description, Website, Repository string
	// ServerName is the server that the package names as its own.
	ServerName string

	version span // of the version within the file; zero if it has none
	readme  string
}

// span is a range of bytes.
type span struct{ from, to int }

// Read reads the files of a directory.
func Read(dir string) (*Project, error) {
	p := &Project{Dir: dir, texts: map[string][]byte{}}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		name := e.Name()
		if strings.EqualFold(name, "README.md") || p.readme == "" && strings.HasPrefix(strings.ToLower(name), "readme.") {
			p.readme = name
		}
	}
	for _, e := range entries {
		if err := p.readEntry(e.Name()); err != nil {
			return nil, fmt.Errorf("%s: %w", e.Name(), err)
		}
	}
	p.readGit()
	return p, p.readServerNames()
}

// readEntry reads a file if it describes a package.
func (p *Project) readEntry(name string) error {
	readers := map[string]func(*Package, []byte) error{
		"package.json": (*Package).readNPM, "pyproject.toml": (*Package).readPython, "Cargo.toml": (*Package).readCargo, "Dockerfile": (*Package).readDockerfile,
	}
	types := map[string]string{"package.json": "npm", "pyproject.toml": "pypi", "Cargo.toml": "cargo", "Dockerfile": "oci"}
	read, kind := readers[name], types[name]
	if ext := filepath.Ext(name); ext == ".csproj" || ext == ".nuspec" {
		read, kind = (*Package).readNuGet, "nuget"
	}
	if read == nil {
		return nil
	}
	text, err := p.text(name)
	if err != nil {
		return err
	}
	found := Package{File: name, Type: kind}
	if err := read(&found, text); err != nil {
		return err
	}
	if found.Name != "" || found.ServerName != "" || found.Version != "" {
		p.Packages = append(p.Packages, found)
	}
	return nil
}

// text returns the content of a file.
func (p *Project) text(name string) ([]byte, error) {
	if text, ok := p.texts[name]; ok {
		return text, nil
	}
	f, err := os.Open(filepath.Join(p.Dir, name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("the file has more than %d bytes", maxFile)
	}
	if err != nil {
		return nil, err
	}
	p.texts[name] = text
	return text, nil
}

// readServerNames reads the names of servers in the README.
func (p *Project) readServerNames() error {
	for i := range p.Packages {
		k := &p.Packages[i]
		if k.Type == "npm" || k.Type == "oci" {
			continue
		}
		k.readme = cmp.Or(k.readme, p.readme)
		if k.readme == "" || !filepath.IsLocal(k.readme) {
			continue
		}
		text, err := p.text(k.readme)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return fmt.Errorf("%s: %w", k.readme, err)
		default:
			k.ServerName = k.serverNameIn(string(text))
		}
	}
	return nil
}

// serverNamePattern matches the name of a server in a README.
var serverNamePattern = regexp.MustCompile(`mcp-name: ?([A-Za-z0-9][A-Za-z0-9.-]*/[A-Za-z0-9._-]*[A-Za-z0-9])`)

// serverNameIn returns the server that a README names, "" if there is none.
func serverNameIn(text string) string {
	found := serverNamePattern.FindStringSubmatch(text)
	if found == nil {
		return ""
	}
	return found[1]
}

// serverNameIn returns the server that the README of a package names, "" if there is none. Comments do not count if its registry
// removes them.
func (k *Package) serverNameIn(text string) string {
	if k.Type == "cargo" {
		text = comments.ReplaceAllString(text, "")
	}
	return serverNameIn(text)
}

// comments matches those of Markdown.
var comments = regexp.MustCompile(`(?s)<!--.*?(-->|$)`)

// readNPM reads a package.json.
func (k *Package) readNPM(text []byte) error {
	d, err := manifest.Parse(text, &manifest.Options{MaxBytes: maxFile})
	if err != nil {
		return err
	}
	get := func(pointer string) string {
		n := d.Lookup(pointer)
		if n == nil || n.Kind != manifest.KindString {
			return ""
		}
		if pointer == "/version" {
			k.version = span{n.Start, n.End}
		}
		return n.Text
	}
	k.Name, k.Version, k.Description, k.Website, k.ServerName = get("/name"), get("/version"), get("/description"), get("/homepage"), get("/mcpName")
	k.Repository = webURL(get("/repository") + get("/repository/url"))
	return nil
}

// tables reads the strings of a TOML file by their dotted keys, with their positions.
func tables(text []byte) (map[string]string, map[string]span, error) {
	values, positions := map[string]string{}, map[string]span{}
	var p unstable.Parser
	p.Reset(text)
	var table []string
	for p.NextExpression() {
		e := p.Expression()
		if e.Kind != unstable.Table && e.Kind != unstable.ArrayTable && e.Kind != unstable.KeyValue {
			continue
		}
		var key []string
		for it := e.Key(); it.Next(); {
			key = append(key, string(it.Node().Data))
		}
		if e.Kind != unstable.KeyValue {
			table = key
			continue
		}
		if v := e.Value(); v.Kind == unstable.String {
			name := strings.Join(append(slices.Clone(table), key...), ".")
			values[name] = string(v.Data)
			positions[name] = span{int(v.Raw.Offset), int(v.Raw.Offset + v.Raw.Length)}
		}
	}
	return values, positions, p.Error()
}

// readPython reads a pyproject.toml.
func (k *Package) readPython(text []byte) error {
	values, positions, err := tables(text)
	if err != nil {
		return err
	}
	k.readme = values["project.readme"]
	for _, table := range []string{"project", "tool.poetry"} {
		if k.Version == "" {
			k.Version, k.version = values[table+".version"], positions[table+".version"]
		}
		k.Name = cmp.Or(k.Name, values[table+".name"])
		k.Description = cmp.Or(k.Description, values[table+".description"])
	}
	for _, word := range []string{"Homepage", "homepage", "Documentation", "documentation"} {
		k.Website = cmp.Or(k.Website, values["project.urls."+word])
	}
	for _, word := range []string{"Repository", "repository", "Source", "source", "GitHub"} {
		k.Repository = cmp.Or(k.Repository, webURL(values["project.urls."+word]))
	}
	return nil
}

// readCargo reads a Cargo.toml.
func (k *Package) readCargo(text []byte) error {
	values, positions, err := tables(text)
	if err != nil {
		return err
	}
	k.Name, k.Version, k.version = values["package.name"], values["package.version"], positions["package.version"]
	k.Description, k.Website, k.readme = values["package.description"], values["package.homepage"], values["package.readme"]
	k.Repository = webURL(values["package.repository"])
	return nil
}

// readNuGet reads a .csproj or .nuspec.
func (k *Package) readNuGet(text []byte) error {
	d := xml.NewDecoder(bytes.NewReader(text))
	d.Strict = true
	to := map[string]*string{
		"PackageId": &k.Name, "id": &k.Name, "Version": &k.Version, "PackageVersion": &k.Version, "version": &k.Version,
		"Title": &k.Title, "title": &k.Title, "Description": &k.Description, "description": &k.Description,
		"PackageProjectUrl": &k.Website, "projectUrl": &k.Website, "RepositoryUrl": &k.Repository, "PackageReadmeFile": &k.readme, "readme": &k.readme,
	}
	var inside string
	for {
		from := int(d.InputOffset())
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.StartElement:
			inside = t.Name.Local
		case xml.EndElement:
			inside = ""
		case xml.CharData:
			value := strings.TrimSpace(string(t))
			if field := to[inside]; field != nil && *field == "" && value != "" && !strings.Contains(value, "$(") {
				*field = value
				if field == &k.Version {
					at := from + strings.Index(string(text[from:]), value)
					k.version = span{at, at + len(value)}
				}
			}
		}
	}
	k.Repository = webURL(k.Repository)
	return nil
}

// imageLabel is the label that names the server of an image.
const imageLabel = "io.modelcontextprotocol.server.name"

// labelPattern is one label of a Dockerfile: a key with a value in quotes or without.
var labelPattern = regexp.MustCompile(`([A-Za-z0-9._-]+)=("(?:[^"\\]|\\.)*"|'[^']*'|[^\s"']+)`)

// readDockerfile reads the labels of a Dockerfile.
func (k *Package) readDockerfile(text []byte) error {
	label, at := false, 0
	for line := range bytes.Lines(text) {
		trimmed := strings.TrimSpace(string(line))
		word, _, _ := strings.Cut(trimmed, " ")
		if !label {
			label = strings.EqualFold(word, "LABEL")
		}
		if label {
			for _, m := range labelPattern.FindAllSubmatchIndex(line, -1) {
				value := line[m[4]:m[5]]
				position := span{at + m[4], at + m[5]}
				if len(value) > 1 && (value[0] == '"' || value[0] == '\'') {
					value, position = value[1:len(value)-1], span{position.from + 1, position.to - 1}
				}
				k.label(string(line[m[2]:m[3]]), string(value), position)
			}
		}
		label = label && strings.HasSuffix(trimmed, `\`)
		at += len(line)
	}
	return nil
}

// label reads one label.
func (k *Package) label(key, value string, at span) {
	if strings.Contains(value, "$") {
		return // a variable of the build
	}
	switch key {
	case imageLabel:
		k.ServerName = value
	case "org.opencontainers.image.title":
		k.Title = value
	case "org.opencontainers.image.description":
		k.Description = value
	case "org.opencontainers.image.version":
		k.Version, k.version = value, at
	case "org.opencontainers.image.url", "org.opencontainers.image.documentation":
		k.Website = cmp.Or(k.Website, value)
	case "org.opencontainers.image.source":
		k.Repository = webURL(value)
	case "org.opencontainers.image.ref.name":
		k.Name = value
	}
}

// readGit reads the remote of the repository that the directory is in.
func (p *Project) readGit() {
	dir, err := filepath.Abs(p.Dir)
	if err != nil {
		return
	}
	for at := dir; ; at = filepath.Dir(at) {
		text, err := os.ReadFile(filepath.Join(at, ".git", "config"))
		if err == nil {
			p.Repository = webURL(originOf(string(text)))
			if rel, err := filepath.Rel(at, dir); err == nil && rel != "." {
				p.Subfolder = filepath.ToSlash(rel)
			}
			return
		}
		if at == filepath.Dir(at) {
			return
		}
	}
}

// originOf returns the url of the remote "origin" in the configuration of a repository.
func originOf(config string) string {
	inside := false
	for line := range strings.Lines(config) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			inside = line == `[remote "origin"]`
			continue
		}
		if key, value, ok := strings.Cut(line, "="); ok && inside && strings.TrimSpace(key) == "url" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// webURL returns the https url of a repository for the forms that tools write, without user,
// password and the ending .git. It returns "" for what is none.
func webURL(text string) string {
	text = strings.TrimPrefix(text, "git+")
	if rest, ok := strings.CutPrefix(text, "github:"); ok {
		text = "https://github.com/" + rest
	}
	if at, rest, ok := strings.Cut(text, "@"); ok && !strings.Contains(at, "://") && strings.Contains(rest, ":") && !strings.Contains(rest, "://") {
		text = "https://" + strings.Replace(rest, ":", "/", 1) // user@host:path
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || !slices.Contains([]string{"https", "http", "ssh", "git"}, u.Scheme) {
		return ""
	}
	return "https://" + u.Hostname() + strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), ".git")
}

// hosts are the services of repositories that manifests name.
var hosts = map[string]string{"github.com": "github", "gitlab.com": "gitlab", "bitbucket.org": "bitbucket", "codeberg.org": "codeberg"}

// Draft returns a manifest from what the files say. What they do not say is missing: a name, if
// there is neither a server name nor a repository, or a description.
func (p *Project) Draft() *manifest.Server {
	s := &manifest.Server{Schema: new(manifest.CurrentSchema)}
	repository, title, website := p.Repository, "", ""
	for i := range p.Packages {
		k := &p.Packages[i]
		s.Name, s.Version, s.Description = cmp.Or(s.Name, k.ServerName), cmp.Or(s.Version, k.Version), cmp.Or(s.Description, shortened(k.Description))
		repository, title, website = cmp.Or(repository, k.Repository), cmp.Or(title, k.Title), cmp.Or(website, k.Website)
		if pack := k.draft(); pack != nil {
			s.Packages = append(s.Packages, *pack)
		}
	}
	s.Name = cmp.Or(s.Name, nameFrom(repository))
	if title != "" && len(title) <= 100 {
		s.Title = &title
	}
	if website != "" && strings.TrimSuffix(website, "#readme") != repository && grammar.URIFault(website) == "" {
		s.WebsiteURL = &website
	}
	if u, err := url.Parse(repository); err == nil && hosts[u.Host] != "" {
		s.Repository = &manifest.Repository{URL: repository, Source: hosts[u.Host]}
		if p.Subfolder != "" {
			s.Repository.Subfolder = &p.Subfolder
		}
	}
	return s
}

// draft returns a package of a manifest, nil if the file does not name it.
func (k *Package) draft() *manifest.Package {
	if k.Name == "" {
		return nil
	}
	pack := &manifest.Package{RegistryType: k.Type, Identifier: k.Name, Transport: manifest.Transport{Type: manifest.Stdio}}
	if k.Version != "" && k.Type != "oci" {
		pack.Version = &k.Version
	}
	if k.Type == "oci" && k.Version != "" && !strings.Contains(k.Name[strings.LastIndexByte(k.Name, '/')+1:], ":") {
		pack.Identifier += ":" + k.Version
	}
	return pack
}

// nameFrom returns the name of a server from the url of its repository, "" if it has none.
func nameFrom(repository string) string {
	u, err := url.Parse(repository)
	if err != nil {
		return ""
	}
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	host := strings.Split(u.Host, ".")
	if len(parts) < 2 || len(host) != 2 {
		return ""
	}
	// The namespace of an account is that of its pages.
	if hosts[u.Host] == "github" || hosts[u.Host] == "gitlab" {
		host[1] = "io"
	}
	return host[1] + "." + host[0] + "." + parts[0] + "/" + parts[len(parts)-1]
}

// shortened cuts a description to 100 characters at a word.
func shortened(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	runes := []rune(s)
	if len(runes) <= 100 {
		return s
	}
	cut := string(runes[:99])
	if i := strings.LastIndexByte(cut, ' '); i > 50 {
		cut = cut[:i]
	}
	return strings.TrimRight(cut, " ,;:.") + "…"
}
