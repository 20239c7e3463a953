package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
)

// config is the file with the contexts. Only its owner may read it, since it has tokens.
type config struct {
	Current  string              `json:"current"`
	Contexts map[string]*profile `json:"contexts"`

	path string
}

// profile is a context: a server, and how to be known there.
type profile struct {
	Server string `json:"server"`
	Token  string `json:"token,omitempty"`
	User   string `json:"user,omitempty"`
}

// configPath returns the path of the file.
func (a *app) configPath() (string, error) {
	if path := a.env.Environ["INVENTORYCTL_CONFIG"]; path != "" {
		return path, nil
	}
	dir := a.env.Environ["XDG_CONFIG_HOME"]
	if dir == "" {
		var err error
		if dir, err = os.UserConfigDir(); err != nil {
			return "", fmt.Errorf("%w: set INVENTORYCTL_CONFIG to the file with the contexts", err)
		}
	}
	return filepath.Join(dir, "ashlar", "inventoryctl.json"), nil
}

// readConfig reads the file. It is empty if there is none.
func (a *app) readConfig() (*config, error) {
	path, err := a.configPath()
	if err != nil {
		return nil, err
	}
	c := &config{path: path, Contexts: map[string]*profile{}}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("other users can read %s, which has tokens: run chmod 600 on it, and log in again if somebody may have read it", path)
	}
	text, err := os.ReadFile(path) // #nosec G304 -- the user names the file
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, c); err != nil {
		return nil, fmt.Errorf("%s is no file with contexts: %w: delete it and log in again", path, err)
	}
	for name, p := range c.Contexts {
		if p == nil {
			delete(c.Contexts, name)
		}
	}
	return c, nil
}

// write replaces the file.
func (c *config) write() error {
	if err := os.MkdirAll(filepath.Dir(c.path), 0o700); err != nil {
		return err
	}
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	return cli.WriteFile(c.path, 0o600, bytes.NewReader(append(text, '\n')))
}

// profile returns what the flags and variables, or the context, say.
func (a *app) profile() (*profile, error) {
	if server := cmp.Or(a.server, a.env.Environ["INVENTORY_URL"]); server != "" && a.context == "" {
		u, err := serverURL(server)
		return &profile{Server: u, Token: a.env.Environ["INVENTORY_TOKEN"]}, err
	}
	c, err := a.readConfig()
	if err != nil {
		return nil, err
	}
	name := cmp.Or(a.context, c.Current)
	p := c.Contexts[name]
	switch {
	case p != nil:
		return p, nil
	case name != "":
		return nil, cli.Usagef("there is no context %q: use one of %s, or log in", name, strings.Join(c.names(), ", "))
	}
	return nil, cli.Usagef("not logged in: run inventoryctl login URL, or set INVENTORY_URL and INVENTORY_TOKEN")
}

func (c *config) names() []string { return slices.Sorted(maps.Keys(c.Contexts)) }

// serverURL checks the URL of a server.
func serverURL(s string) (string, error) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return "", cli.Usagef("%q is no URL of a server: use one such as https://inventory.example.org", s)
	}
	return strings.TrimRight(u.String(), "/"), nil
}

func (a *app) contextCommand() *cobra.Command {
	command := &cobra.Command{Use: "context COMMAND", Short: "List, choose and forget the servers that you are logged in to"}
	names := func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		c, err := a.readConfig()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return c.names(), cobra.ShellCompDirectiveNoFileComp
	}
	change := func(use, short string, do func(c *config, name string)) *cobra.Command {
		return &cobra.Command{Use: use + " NAME", Short: short, Args: cli.Args(1, 1, "the name of a context"), ValidArgsFunction: names, RunE: func(_ *cobra.Command, args []string) error {
			c, err := a.readConfig()
			if err != nil {
				return err
			}
			if c.Contexts[args[0]] == nil {
				return cli.Usagef("there is no context %q: use one of %s", args[0], strings.Join(c.names(), ", "))
			}
			do(c, args[0])
			return c.write()
		}}
	}
	command.AddCommand(
		&cobra.Command{Use: "list", Short: "List the contexts", Args: cli.Args(0, 0, "no arguments"), RunE: func(*cobra.Command, []string) error {
			c, err := a.readConfig()
			if err != nil {
				return err
			}
			t := newTable(a.env.Stdout, "", "CONTEXT", "SERVER", "USER")
			for _, name := range c.names() {
				current := ""
				if name == c.Current {
					current = "*"
				}
				t.row(current, name, c.Contexts[name].Server, c.Contexts[name].User)
			}
			t.flush()
			return nil
		}},
		change("use", "Make a context the current one", func(c *config, name string) { c.Current = name }),
		change("delete", "Forget a context and its token, without a logout", func(c *config, name string) {
			delete(c.Contexts, name)
			if c.Current == name {
				c.Current = ""
			}
		}),
	)
	return command
}
