package publish

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/internal/grammar"
	"github.com/ashlar-go/ashlar/internal/jsonpos"
	"github.com/ashlar-go/ashlar/manifest"
)

// Options are optional settings. A nil *Options and zero fields mean the defaults.
type Options struct {
	// Registry is the url of a registry of servers. Default: none is asked.
	Registry string
	// Packages are the urls of registries of packages by registryType. Default: none is asked.
	Packages map[string]string
	// Files asks for the files of bundles too.
	Files bool
	// Client sends the requests. Default: one that gives up after 30 s and follows redirects within
	// the host only.
	Client *http.Client
}

// maxResponse is the number of bytes of a response that are read.
const maxResponse = 5 << 20

// Problem is a reason why a registry would refuse the manifest.
type Problem struct {
	Pointer string // of the value in the manifest
	Message string // one line
}

// Check asks registries whether they would accept a manifest: the version is new, and each package
// exists and names the server as its owner. It does not check what [manifest.Validate] with the
// profile Publish does. The error is that of a request that had no usable answer.
func Check(ctx context.Context, s *manifest.Server, opts *Options) ([]Problem, error) {
	c := &checker{server: s, opts: *cmp.Or(opts, &Options{})}
	c.opts.Client = cmp.Or(c.opts.Client, &http.Client{Timeout: 30 * time.Second, CheckRedirect: sameHost})
	err := c.registry(ctx)
	for i := range s.Packages {
		err = errors.Join(err, c.pack(ctx, &s.Packages[i], fmt.Sprintf("/packages/%d", i)))
	}
	return c.problems, err
}

// sameHost follows redirects within a host.
func sameHost(req *http.Request, via []*http.Request) error {
	if len(via) > 5 || req.URL.Host != via[0].URL.Host || via[0].URL.Scheme == "https" && req.URL.Scheme != "https" {
		return fmt.Errorf("a redirect to %s is refused", req.URL.Redacted())
	}
	return nil
}

// checker collects problems.
type checker struct {
	server   *manifest.Server
	opts     Options
	problems []Problem
}

func (c *checker) add(pointer, format string, args ...any) {
	c.problems = append(c.problems, Problem{pointer, fmt.Sprintf(format, args...)})
}

// get returns the body of a response, nil if there is nothing at the path.
func (c *checker) get(ctx context.Context, base, path, accept string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(base, "/")+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", accept)
	resp, err := c.opts.Client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusNotFound, http.StatusGone:
		return nil, nil
	case http.StatusOK:
	default:
		return nil, fmt.Errorf("%s: the response is %d %s", req.URL.Redacted(), resp.StatusCode, http.StatusText(resp.StatusCode))
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse+1))
	if err == nil && len(body) > maxResponse {
		err = fmt.Errorf("%s: the response has more than %d bytes", req.URL.Redacted(), maxResponse)
	}
	return body, err
}

// decode gets a JSON document. found is false if there is none.
func (c *checker) decode(ctx context.Context, base, path, accept string, to any) (found bool, err error) {
	body, err := c.get(ctx, base, path, accept)
	if err != nil || body == nil {
		return false, err
	}
	if err := json.Unmarshal(body, to); err != nil {
		return false, fmt.Errorf("%s%s: the response is not the JSON of this API: %w", base, path, err)
	}
	return true, nil
}

const anyJSON = "application/json"

// registry asks the registry of servers.
func (c *checker) registry(ctx context.Context) error {
	if c.opts.Registry == "" {
		return nil
	}
	at := "/v0.1/servers/" + url.PathEscape(c.server.Name) + "/versions/"
	var answer struct {
		Server manifest.Server `json:"server"`
	}
	published, err := c.decode(ctx, c.opts.Registry, at+url.PathEscape(c.server.Version), anyJSON, &answer)
	if err != nil {
		return err
	}
	if published {
		c.add("/version", "version %s is published already, and versions do not change: use the next one", jsonpos.Quote(c.server.Version))
	}
	return nil
}

// pack asks the registry of a package.
func (c *checker) pack(ctx context.Context, k *manifest.Package, at string) error {
	if k.RegistryType == "mcpb" {
		return c.file(ctx, k, at)
	}
	base := c.opts.Packages[k.RegistryType]
	if base == "" {
		return nil
	}
	p := &packageChecker{c, base, k.Identifier, "", at}
	if k.Version != nil {
		p.version = *k.Version
	}
	check := map[string]func(context.Context) error{"npm": p.npm, "pypi": p.pypi, "nuget": p.nuget, "cargo": p.cargo, "oci": p.oci}[k.RegistryType]
	if check == nil {
		return nil
	}
	return check(ctx)
}

// packageChecker checks one package of the manifest.
type packageChecker struct {
	*checker
	base, name, version string
	at                  string // the pointer of the package
}

// published is decode for a document that each published package has. It reports a package without one.
func (c *packageChecker) published(ctx context.Context, path, accept string, to any) (found bool, err error) {
	found, err = c.decode(ctx, c.base, path, accept, to)
	if err == nil && !found {
		c.absent()
	}
	return found, err
}

// absent reports a package that is not there.
func (c *packageChecker) absent() {
	c.add(c.at, "%s %s is not published: publish the package before its manifest", jsonpos.Quote(c.name), c.version)
}

// owner compares the server that a package names.
func (c *packageChecker) owner(server, how string) {
	switch server {
	case c.server.Name:
	case "":
		c.add(c.at, "the package does not name its server: add %s, and publish it again", how)
	default:
		c.add(c.at, "the package is of the server %s: it must have %s", jsonpos.Quote(server), how)
	}
}

// readme looks for the name of the server in a README. Another name that begins with the server's is another one.
func (c *packageChecker) readme(text string) {
	found := ""
	for _, m := range serverNamePattern.FindAllStringSubmatch(text, -1) {
		if found == "" || m[1] == c.server.Name {
			found = m[1]
		}
	}
	c.owner(found, fmt.Sprintf("the line %q to its README", "mcp-name: "+c.server.Name))
}

func (c *packageChecker) npm(ctx context.Context) error {
	var answer struct {
		Name string `json:"mcpName"`
	}
	if found, err := c.published(ctx, "/"+strings.ReplaceAll(url.PathEscape(c.name), "%40", "@")+"/"+url.PathEscape(c.version), anyJSON, &answer); !found {
		return err
	}
	c.owner(answer.Name, fmt.Sprintf(`"mcpName": %q to its package.json`, c.server.Name))
	return nil
}

func (c *packageChecker) pypi(ctx context.Context) error {
	var answer struct {
		Info struct {
			Description string `json:"description"`
		} `json:"info"`
	}
	if found, err := c.published(ctx, "/pypi/"+url.PathEscape(c.name)+"/"+url.PathEscape(c.version)+"/json", anyJSON, &answer); !found {
		return err
	}
	c.readme(answer.Info.Description)
	return nil
}

func (c *packageChecker) nuget(ctx context.Context) error {
	path := "/v3-flatcontainer/" + url.PathEscape(strings.ToLower(c.name))
	var index struct {
		Versions []string `json:"versions"`
	}
	if found, err := c.published(ctx, path+"/index.json", anyJSON, &index); !found {
		return err
	}
	if !slices.ContainsFunc(index.Versions, func(v string) bool { return strings.EqualFold(v, c.version) }) {
		c.absent()
		return nil
	}
	readme, err := c.get(ctx, c.base, path+"/"+url.PathEscape(strings.ToLower(c.version))+"/readme", "*/*")
	if err != nil {
		return err
	}
	c.readme(string(readme))
	return nil
}

func (c *packageChecker) cargo(ctx context.Context) error {
	path := "/api/v1/crates/" + url.PathEscape(c.name) + "/" + url.PathEscape(c.version)
	var crate, readme struct {
		URL string `json:"url"`
	}
	if found, err := c.published(ctx, path, anyJSON, &crate); !found {
		return err
	}
	if _, err := c.decode(ctx, c.base, path+"/readme", anyJSON, &readme); err != nil {
		return err
	}
	var text []byte
	if readme.URL != "" {
		// The registry says where the README is; a relative address is its own.
		to, err := url.Parse(readme.URL)
		if err != nil || to.IsAbs() && to.Scheme != "https" && !strings.HasPrefix(readme.URL, c.base) {
			return fmt.Errorf("%s%s/readme: the address of the README is refused", c.base, path)
		}
		if !to.IsAbs() {
			readme.URL = strings.TrimSuffix(c.base, "/") + readme.URL
		}
		if text, err = c.get(ctx, readme.URL, "", "text/html"); err != nil {
			return err
		}
	}
	c.readme(string(text))
	return nil
}

// Media types of images.
const (
	imageTypes = "application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json, application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.list.v2+json"
	configType = "application/vnd.oci.image.config.v1+json, application/vnd.docker.container.image.v1+json, */*"
)

// oci reads the labels of an image: through its index, if it is for several platforms, and its
// configuration.
func (c *packageChecker) oci(ctx context.Context) error {
	reference := c.name
	if i := strings.IndexByte(reference, '/'); i > 0 && strings.ContainsAny(reference[:i], ".:") {
		reference = reference[i+1:] // the registry is base
	}
	name, tag, digest := grammar.CutImage(reference)
	tag = cmp.Or(digest, tag, c.version)
	if !strings.Contains(name, "/") {
		name = "library/" + name
	}
	type descriptor struct {
		Digest string `json:"digest"`
	}
	var m struct {
		Manifests []descriptor `json:"manifests"`
		Config    descriptor   `json:"config"`
	}
	for range 2 { // an index, then a manifest
		m.Manifests = nil
		if found, err := c.published(ctx, "/v2/"+name+"/manifests/"+tag, imageTypes, &m); !found {
			return err
		}
		if len(m.Manifests) == 0 {
			break
		}
		tag = m.Manifests[0].Digest
	}
	var config struct {
		Config struct {
			Labels map[string]string `json:"Labels"`
		} `json:"config"`
	}
	if _, err := c.decode(ctx, c.base, "/v2/"+name+"/blobs/"+m.Config.Digest, configType, &config); err != nil {
		return err
	}
	c.owner(config.Config.Labels[imageLabel], fmt.Sprintf("LABEL %s=%q to its Dockerfile", imageLabel, c.server.Name))
	return nil
}

// file asks for the file of a bundle.
func (c *checker) file(ctx context.Context, k *manifest.Package, at string) error {
	if !c.opts.Files {
		return nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, k.Identifier, http.NoBody)
	if err != nil {
		return err
	}
	client := *c.opts.Client
	client.CheckRedirect = nil // files are often served by another host
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	if err := resp.Body.Close(); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		c.add(at+"/identifier", "the file cannot be downloaded: the response is %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	}
	return nil
}
