package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	api "github.com/ashlar-go/ashlar/inventory/client"
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

func (a *app) loginCommand() *cobra.Command {
	var name, user, code string
	var token bool
	command := &cobra.Command{
		Use: "login URL", Short: "Log in to a server, and make it the current context", Args: cli.Args(1, 1, "the URL of a server"),
		Long: "Log in to a server, and make it the current context. The password is read from the terminal, or else from the first line of standard input.",
		RunE: func(c *cobra.Command, args []string) error {
			server, err := serverURL(args[0])
			if err != nil {
				return err
			}
			u, _ := url.Parse(server)
			if ip := net.ParseIP(u.Hostname()); u.Scheme == "http" && u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
				printf(a.env.Stderr, "inventoryctl: warning: %s has no TLS: others on the network can read the password and the token", server)
			}
			p := &profile{Server: server, User: user}
			in := &prompter{app: a}
			if token {
				p.Token, err = in.secret("API token: ")
			} else {
				err = a.logIn(c, p, in, code)
			}
			if err != nil {
				return err
			}
			client, err := a.connect(c.Context(), p, 0)
			if err != nil {
				return err
			}
			if err := client.get("/locations", url.Values{"limit": {"1"}, "count": {"none"}}, nil); err != nil {
				return err
			}
			config, err := a.readConfig()
			if err != nil {
				return err
			}
			config.Current = cmp.Or(name, u.Host)
			config.Contexts[config.Current] = p
			if err := config.write(); err != nil {
				return err
			}
			printf(a.env.Stderr, "logged in to %s; the token is in %s", server, config.path)
			return nil
		},
	}
	command.Flags().StringVar(&name, "name", "", "the `name` of the context; default: the host of the URL")
	command.Flags().StringVarP(&user, "username", "u", "", "the `name` of the user; default: it is asked for")
	command.Flags().StringVar(&code, "code", "", "the `code` of the second factor; default: it is asked for")
	command.Flags().BoolVar(&token, "token-stdin", false, "read an API token instead of a password")
	return command
}

// logIn gets a token for a name and a password.
func (a *app) logIn(c *cobra.Command, p *profile, in *prompter, code string) (err error) {
	if p.User == "" {
		if p.User, err = in.line("User name: "); err != nil {
			return err
		}
	}
	password, err := in.secret("Password: ")
	if err != nil {
		return err
	}
	client, err := a.connect(c.Context(), p, 0)
	if err != nil {
		return err
	}
	for {
		p.Token, err = client.api.Login(c.Context(), p.User, password, code)
		failed, ok := errors.AsType[*api.Error](err)
		if code != "" || !ok || failed.Code != "second_factor_required" {
			return err
		}
		if code, err = in.line("Code of the second factor: "); err != nil {
			return err
		}
	}
}

func (a *app) logoutCommand() *cobra.Command {
	return &cobra.Command{Use: "logout", Short: "End the session of the context, and forget its token", Args: cli.Args(0, 0, "no arguments"), RunE: a.runs(func(c *client, _ []string) error {
		sent := c.send(http.MethodPost, "/users/logout", nil, nil, nil)
		config, err := a.readConfig()
		if err != nil {
			return err
		}
		if of := config.Contexts[cmp.Or(a.context, config.Current)]; of != nil {
			of.Token = ""
			err = config.write()
		}
		return errors.Join(sent, err)
	})}
}

// prompter reads what the user types.
type prompter struct {
	*app
	in *bufio.Reader
}

// maxTyped bounds a line in bytes.
const maxTyped = 64 << 10

// line reads a line.
func (p *prompter) line(prompt string) (string, error) {
	if _, ok := p.terminal(); ok {
		fmt.Fprint(p.env.Stderr, prompt)
	}
	if p.in == nil {
		p.in = bufio.NewReader(io.LimitReader(p.env.Stdin, maxTyped))
	}
	text, err := p.in.ReadString('\n')
	if text = strings.TrimRight(text, "\r\n"); text == "" {
		return "", cli.Usagef("standard input has no line for %q: %w", strings.TrimRight(prompt, ": "), err)
	}
	return text, nil
}

// secret reads a line that a terminal does not show.
func (p *prompter) secret(prompt string) (string, error) {
	fd, ok := p.terminal()
	if !ok {
		return p.line(prompt)
	}
	fmt.Fprint(p.env.Stderr, prompt)
	text, err := term.ReadPassword(fd)
	fmt.Fprintln(p.env.Stderr)
	return string(text), err
}

// confirm asks whether to go on. Without a terminal it needs the flag --yes.
func (a *app) confirm(question string) error {
	if _, ok := a.terminal(); !ok {
		return cli.Usagef("nobody can be asked, since standard input is no terminal: add --yes")
	}
	fmt.Fprint(a.env.Stderr, question+" (y/N) ")
	answer, err := bufio.NewReader(io.LimitReader(a.env.Stdin, maxTyped)).ReadString('\n')
	if answer = strings.ToLower(strings.TrimSpace(answer)); err != nil || answer != "y" && answer != "yes" {
		return errors.New("nothing was changed")
	}
	return nil
}

// terminal returns the descriptor of standard input if it is a terminal.
func (a *app) terminal() (int, bool) {
	f, ok := a.env.Stdin.(*os.File)
	if !ok {
		return 0, false
	}
	fd := int(f.Fd()) // #nosec G115 -- descriptors are small
	return fd, term.IsTerminal(fd)
}
