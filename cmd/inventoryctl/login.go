package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	api "github.com/ashlar-go/ashlar/inventory/client"
)

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
