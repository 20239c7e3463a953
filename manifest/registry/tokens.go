package registry

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/ashlar-go/ashlar/httpx"
)

// errToken is returned by Options.Authorize for an unknown token.
var errToken = errors.New("unknown token")

// Tokens returns a function for Options.Authorize from a table of tokens and what each may publish to and change:
//
//	com.example        servers such as com.example/weather
//	com.example.*      servers of all namespaces below, such as com.example.lab/weather
//	com.example/tool   this server
//	*                  all servers
//
// One without any may only read, where Options.AuthorizeRead requires a token.
// Tokens have at least 16 characters. They are kept as hashes and compared in constant time.
func Tokens(table map[string][]string) (func(context.Context, string) ([]string, error), error) {
	type known struct {
		token      httpx.Secret
		namespaces []string
	}
	var all []known
	for token, namespaces := range table {
		if len(token) < httpx.MinTokenBytes {
			return nil, fmt.Errorf("a token has %d characters: use at least %d", len(token), httpx.MinTokenBytes)
		}
		for _, n := range namespaces {
			if bare := strings.TrimSuffix(n, ".*"); n != "*" && (bare == "" || strings.ContainsAny(bare, "* \t\r\n") || strings.Count(n, "/") > 1) {
				return nil, fmt.Errorf("invalid namespace %q: write com.example, com.example.*, com.example/server or *", n)
			}
		}
		all = append(all, known{httpx.NewSecret(token), namespaces})
	}
	return func(_ context.Context, token string) ([]string, error) {
		err := errToken
		var found []string
		for i := range all {
			if all[i].token.Is(token) {
				found, err = all[i].namespaces, nil
			}
		}
		return found, err
	}, nil
}

// mayChange reports whether namespaces include a server.
func mayChange(namespaces []string, name string) bool {
	space, _, _ := strings.Cut(name, "/")
	for _, n := range namespaces {
		parent, below := strings.CutSuffix(n, ".*")
		if n == "*" || n == space || n == name || below && strings.HasPrefix(space, parent+".") {
			return true
		}
	}
	return false
}

// authenticate returns the namespaces of the bearer token of a request that changes something.
func (a *api) authenticate(r *http.Request) ([]string, error) {
	if a.opts.Authorize == nil {
		return nil, httpx.Errorf(http.StatusNotImplemented, "This registry is read-only")
	}
	return authenticate(r, a.opts.Authorize)
}

func authenticate(r *http.Request, authorize func(context.Context, string) ([]string, error)) ([]string, error) {
	token := bearer(r)
	if token == "" {
		return nil, unauthorized("The token is missing: send Authorization: Bearer TOKEN")
	}
	namespaces, err := authorize(r.Context(), token)
	if errors.Is(err, errToken) {
		return nil, unauthorized("The token is invalid or has expired")
	}
	return namespaces, err
}

func bearer(r *http.Request) string {
	return strings.TrimSpace(httpx.BearerToken(r.Header.Get("Authorization")))
}

// audit logs a change that was made.
func (a *api) audit(r *http.Request, what string, e *Entry) {
	hash := sha256.Sum256([]byte(bearer(r)))
	a.opts.Audit.InfoContext(r.Context(), what, "server", e.Name, "version", e.Version, "status", e.State.Status,
		"token", hex.EncodeToString(hash[:4]), "client", a.clients.Addr(r), "request_id", httpx.RequestIDFrom(r.Context()))
}

func unauthorized(message string) error {
	return &httpx.Error{Status: http.StatusUnauthorized, Message: message, Header: http.Header{"Www-Authenticate": {"Bearer"}}}
}

func forbidden(namespaces []string, name string) error {
	return httpx.Errorf(http.StatusForbidden, "The token may not change %.200q: it is for %.500s", name, cmp.Or(strings.Join(namespaces, ", "), "reading only"))
}
