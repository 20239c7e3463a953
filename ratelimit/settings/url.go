package settings

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/internal/settings"
)

// isRedisURL reports whether the address of one server is written as a URL.
func (k *KV) isRedisURL() bool {
	scheme, _, ok := strings.Cut(k.URL, "://")
	return ok && k.Type == Single && (strings.EqualFold(scheme, "redis") || strings.EqualFold(scheme, "rediss"))
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
