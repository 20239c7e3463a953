package settings

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/internal/settings"
)

// isRedisURL reports whether the address of one server is written as a URL.
func (k *KV) isRedisURL() bool {
	scheme, _, ok := strings.Cut(k.URL, "://")
	return ok && k.Type == Single && (strings.EqualFold(scheme, "redis") || strings.EqualFold(scheme, "rediss"))
}

// The forms of an address, as errors name them.
const (
	formAddress   = "an address"
	formURL       = "a URL"
	formPath      = "the path of a socket"
	formNodes     = "a list of nodes"
	formSentinels = "a list of sentinels"
)

// form returns what the URL looks like, whatever the other settings are, or "".
func (k *KV) form() string {
	isAddress := func(item string) bool {
		if _, after, ok := strings.Cut(item, "://"); ok {
			item = after
		}
		return settings.CheckHostPort(item[strings.LastIndex(item, "@")+1:]) == nil
	}
	items := settings.Split(k.URL)
	switch {
	case strings.HasPrefix(k.URL, "/"):
		return formPath
	case len(items) > 1 && slices.ContainsFunc(items[1:], isAddress):
		if isAddress(items[0]) {
			return formNodes
		}
		return formSentinels
	case strings.Contains(k.URL, "://"):
		return formURL
	case isAddress(k.URL):
		return formAddress
	}
	return ""
}

// typical are addresses of each Type, as errors name them.
var typical = map[string]string{Single: "host:port", Sentinel: "master,host:port,host:port", Cluster: "host:port,host:port"}

// checkURL returns what is wrong with the URL, the invalid part of it, quoted, and advice that follows the error. In the
// advice, $TYPE stands for that setting of this store.
func (k *KV) checkURL() (shown, advice string, err error) {
	form, shown := k.form(), settings.Quote(k.URL)
	if k.isRedisURL() && k.SocketType != SocketUnix {
		resolved := *k
		if err := resolved.readRedisURL(); err == nil || form == formURL {
			return shown, "", err
		}
	}
	meant := Single
	switch form {
	case formNodes:
		meant = Cluster
	case formSentinels:
		meant = Sentinel
	}
	path, isUnix := form == formPath, k.SocketType == SocketUnix
	switch {
	case form != "" && meant != k.Type && !(form == formAddress && k.Type == Cluster):
		return shown, ", but $TYPE is " + k.Type + ": set $TYPE to " + meant + ", or use " + typical[k.Type], errors.New("is " + form)
	case path && !isUnix:
		return shown, ", but $SOCKET_TYPE is " + k.SocketType + ": set $SOCKET_TYPE to unix, or use host:port", errors.New("is " + form)
	case isUnix && !path && form != "":
		return shown, ", but $SOCKET_TYPE is unix: set $SOCKET_TYPE to tcp, or use the path of a socket", errors.New("is " + form)
	case isUnix:
		return shown, "", settings.CheckSocket(k.URL)
	case form == formURL: // of another scheme
		return shown, "", errors.New("is a URL of another kind: use host:port, redis://user:password@host:port/database, or rediss for TLS")
	case form == "" && k.Type == Sentinel:
		return shown, "", errors.New("is not a list of sentinels: use the name of the master and at least one sentinel, " + typical[Sentinel])
	}
	_, addrs := k.Nodes()
	for i, addr := range addrs {
		if err := settings.CheckHostPort(addr); err != nil {
			return settings.QuoteItem(addrs, i), "", err
		}
	}
	return "", "", nil
}

// Resolved returns a copy in which the parts of a redis:// or rediss:// URL are separate: URL is
// host:port, and Auth, Database and TLS are set. The URL of other settings stays as it is.
func (k *KV) Resolved() *KV {
	resolved := *k
	if resolved.isRedisURL() && resolved.readRedisURL() != nil {
		return k // Parse has refused it
	}
	return &resolved
}

// ReadAuth returns the content of AuthFile without line ends, or Auth if there is no such file. Errors do not show it.
func (k *KV) ReadAuth() (string, error) {
	if k.AuthFile == "" {
		return k.Auth, nil
	}
	data, err := os.ReadFile(k.AuthFile)
	if err != nil {
		return "", fmt.Errorf("AUTH_FILE: %w", err)
	}
	auth := strings.TrimRight(string(data), "\r\n")
	if auth == "" {
		return "", fmt.Errorf("AUTH_FILE: %s is empty: write password or user:password to it", k.AuthFile)
	}
	return auth, nil
}

// readRedisURL replaces redis://user:password@host:port/database by its parts. rediss is TLS.
// Auth takes precedence over the user and password of the URL. Errors do not show these.
func (k *KV) readRedisURL() error {
	const use = "use redis://user:password@host:port/database, or rediss for TLS, with special characters percent-encoded"
	u, err := url.Parse(k.URL)
	if err != nil || u.Opaque != "" || u.Fragment != "" || u.Hostname() == "" {
		return errors.New("is not a valid URL: " + use)
	}
	database := strings.Trim(u.Path, "/")
	for name, values := range u.Query() {
		if name != "db" || database != "" || len(values) != 1 {
			return fmt.Errorf("has the parameter %s, which is unknown or given twice: %s", settings.Quote(name), use)
		}
		database = values[0]
	}
	if database != "" {
		if k.Database, err = strconv.Atoi(database); err != nil || k.Database < 0 {
			return errors.New("has a database that is not a number from 0: " + use)
		}
	}
	port := u.Port()
	if port == "" {
		port = "6379"
	}
	addr := net.JoinHostPort(u.Hostname(), port)
	if settings.CheckHostPort(addr) != nil {
		return errors.New("has an invalid host or port: " + use)
	}
	user := u.User.Username()
	password, ok := u.User.Password()
	switch {
	case strings.Contains(user, ":"):
		return errors.New("has a user name with a colon, which is not supported")
	case user != "" && !ok:
		return errors.New("has a user name without a password: write redis://:password@host:port for a password alone")
	case k.Auth == "" && ok && user+password != "":
		k.Auth = user + ":" + password
	}
	k.TLS = k.TLS || strings.EqualFold(u.Scheme, "rediss")
	k.URL = addr
	return nil
}
