package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/cmd/manifest/internal/fetch"
	registries "github.com/ashlar-go/ashlar/manifest/registry"
	"github.com/ashlar-go/ashlar/manifest/registry/client"
)

// fromFlag defines the flag -from.
func (c *call) fromFlag() {
	c.flags.StringVar(&c.from, "from", "", "arguments are NAME[@VERSION] of manifests in the registry at `URL`, but for those that end in .json; without a version the latest; $"+tokenVariable+" has the token of a private one")
	c.command.ValidArgsFunction = func(command *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		if c.from == "" {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return c.names(command.Context(), typed), cobra.ShellCompDirectiveNoFileComp
	}
}

// names returns servers of the registry of -from whose names begin with what was typed, of a first page that has that.
func (c *call) names(ctx context.Context, typed string) []string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	registry, done, err := c.dial(c.from)
	if err != nil {
		return nil
	}
	defer done()
	page, err := registry.Page(ctx, &registries.Filter{Search: typed, Version: "latest"}, "")
	if err != nil {
		return nil
	}
	var names []string
	for i := range page.Servers {
		if strings.HasPrefix(page.Servers[i].Name, typed) {
			names = append(names, page.Servers[i].Name)
		}
	}
	return names
}

// published reads the manifests that the arguments name from the registry of -from.
func (c *call) published(ctx context.Context) ([]source, error) {
	registry, done, err := c.dial(c.from)
	if err != nil {
		return nil, cli.Usagef("-from: %w", err)
	}
	defer done()
	if len(c.files) == 0 {
		return nil, cli.Usagef("name a server, such as io.github.owner/server@1.0.0")
	}
	var all []source
	for _, arg := range c.files {
		if arg == "-" || strings.HasSuffix(arg, ".json") { // to compare with
			data, err := c.read(ctx, arg)
			if err != nil {
				return nil, err
			}
			all = append(all, answered(source{path: arg, data: data})...)
			continue
		}
		name, version, _ := strings.Cut(arg, "@")
		e, err := registry.Get(ctx, name, version)
		if err != nil {
			return nil, unreadable(fmt.Errorf("%s: %w", cli.Printable(arg), err))
		}
		all = append(all, source{path: e.Name + "@" + e.Version, data: indented(e.Server), fromRegistry: true})
	}
	return all, nil
}

// tokenVariable is the environment variable with the token for a registry whose reads need one.
const tokenVariable = "MANIFEST_REGISTRY_TOKEN" // #nosec G101 -- not a token

// dial returns a client of a registry, and a function that closes its connections.
func (c *call) dial(address string) (*client.Client, func(), error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = dialer(address)
	h := &http.Client{Timeout: time.Minute, Transport: transport}
	registry, err := client.New(address, &client.Options{HTTP: h, Token: c.Environ[tokenVariable]})
	return registry, h.CloseIdleConnections, err
}

// dialer returns a function that connects to a registry, or the proxy for it, wherever they are, and elsewhere, where
// redirects lead, to public addresses only.
func dialer(registry string) func(ctx context.Context, network, addr string) (net.Conn, error) {
	var known []string
	if u, err := url.Parse(registry); err == nil {
		known = append(known, hostPort(u))
		if proxy, err := http.ProxyFromEnvironment(&http.Request{URL: u}); err == nil && proxy != nil {
			known = append(known, hostPort(proxy))
		}
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		d := &net.Dialer{Timeout: 30 * time.Second}
		if !slices.Contains(known, addr) {
			d.Control = fetch.RequirePublic
		}
		return d.DialContext(ctx, network, addr)
	}
}

// hostPort returns the address of a URL.
func hostPort(u *url.URL) string {
	byDefault := map[string]string{"https": "443", "socks5": "1080", "socks5h": "1080"}[u.Scheme]
	return net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), byDefault, "80"))
}

// answered returns the manifests in a response of a registry, or else the source itself.
func answered(s source) []source {
	if !bytes.Contains(s.data, []byte(`"server`)) {
		return []source{s}
	}
	type one struct {
		Server json.RawMessage `json:"server"`
	}
	var response struct {
		one
		Servers []one           `json:"servers"`
		Name    json.RawMessage `json:"name"`
	}
	if json.Unmarshal(s.data, &response) != nil || response.Name != nil {
		return []source{s}
	}
	if response.Server != nil {
		response.Servers = []one{response.one}
	}
	var all []source
	for i, o := range response.Servers {
		if o.Server == nil {
			return []source{s}
		}
		var key struct{ Name, Version any }
		_ = json.Unmarshal(o.Server, &key) // what is missing is reported by the validation
		path := fmt.Sprintf("%s#%d (%v@%v)", s.path, i, key.Name, key.Version)
		all = append(all, source{path: path, data: indented(o.Server), fromRegistry: true})
	}
	if all == nil {
		return []source{s}
	}
	return all
}

// indented returns a manifest with a line for each value, so that problems have lines.
func indented(manifest []byte) []byte {
	var b bytes.Buffer
	if json.Indent(&b, manifest, "", "  ") != nil {
		return manifest
	}
	return append(b.Bytes(), '\n')
}
