package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory/auth"
)

func text(field func(*Settings) *string) func(*Settings, string) error {
	return func(s *Settings, value string) error {
		*field(s) = value
		return nil
	}
}

func notEmpty(field func(*Settings) *string) func(*Settings, string) error {
	return func(s *Settings, value string) error {
		if strings.TrimSpace(value) == "" {
			return errors.New("must not be empty")
		}
		*field(s) = value
		return nil
	}
}

func boolean(field func(*Settings) *bool) func(*Settings, string) error {
	return func(s *Settings, value string) error {
		on, err := strconv.ParseBool(value)
		if err != nil {
			return errors.New("must be true or false")
		}
		*field(s) = on
		return nil
	}
}

func listenAddr(s *Settings, value string) error {
	_, port, err := net.SplitHostPort(value)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fmt.Errorf("%q must be host:port or :port, such as localhost:3000", value)
	}
	s.Addr = value
	return nil
}

func isPostgres(value string) bool {
	return strings.HasPrefix(value, "postgres://") || strings.HasPrefix(value, "postgresql://")
}

// databaseURL never shows the value in its error: it may hold a password.
func databaseURL(s *Settings, value string) error {
	if scheme, _, ok := strings.Cut(value, "://"); ok && !isPostgres(value) {
		return fmt.Errorf("%q is no kind of database: use the path of a SQLite file, or postgres://user:password@host/database", scheme)
	}
	if _, err := url.Parse(value); err != nil && isPostgres(value) {
		return errors.New("is no URL: use postgres://user:password@host/database, with special characters as %XX")
	}
	s.DatabaseURL = value
	return nil
}

func readURL(s *Settings, value string) error {
	if !isPostgres(value) {
		return errors.New("must be postgres://user:password@host/database")
	}
	s.DatabaseReadURL = value
	return nil
}

func jwtSecret(s *Settings, value string) error {
	if len(value) < auth.MinKeyBytes {
		return fmt.Errorf("has %d bytes: it must have at least %d, such as those of openssl rand -hex 32", len(value), auth.MinKeyBytes)
	}
	s.JWTSecret = value
	return nil
}

func jwtExpiration(s *Settings, value string) error {
	d, err := time.ParseDuration(value)
	if err != nil || d < time.Second || d > auth.MaxLifetime {
		return fmt.Errorf("%q must be a duration from 1s to %.0fh, such as 24h", value, auth.MaxLifetime.Hours())
	}
	s.JWTExpiration = d
	return nil
}

func mailPort(s *Settings, value string) error {
	port, err := strconv.ParseUint(value, 10, 16)
	if err != nil || port == 0 {
		return fmt.Errorf("%q must be a port from 1 to 65535", value)
	}
	s.MailPort = int(port)
	return nil
}

func fromAddress(s *Settings, value string) error {
	if _, err := mail.ParseAddress(value); err != nil {
		return fmt.Errorf("%q must be a mail address, such as inventory@example.com", value)
	}
	s.FromAddress = value
	return nil
}

func proxies(s *Settings, value string) error {
	s.TrustedProxies = nil
	for part := range strings.SplitSeq(value, ",") {
		part = strings.TrimSpace(part)
		network, err := netip.ParsePrefix(part)
		if addr, e := netip.ParseAddr(part); e == nil {
			network, err = netip.PrefixFrom(addr.WithZone(""), addr.BitLen()), nil
		}
		if err != nil {
			return fmt.Errorf("%q must be a network such as 10.0.0.0/8 or fd00::/8", part)
		}
		s.TrustedProxies = append(s.TrustedProxies, network.Masked())
	}
	return nil
}

func origins(s *Settings, value string) error {
	var list []string
	for part := range strings.SplitSeq(value, ",") {
		list = append(list, strings.TrimSpace(part))
	}
	if _, err := httpx.NewOrigins(list); err != nil {
		return err
	}
	s.AllowedOrigins = list
	return nil
}

func rateLimit(s *Settings, value string) error {
	n, err := strconv.ParseUint(value, 10, 31)
	if err != nil {
		return fmt.Errorf("%q must be a number of requests a minute, 0 for no limit", value)
	}
	s.RateLimit = int(n)
	return nil
}

// redisURL never shows the value in its error: it may hold a password.
func redisURL(s *Settings, value string) error {
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "redis" && u.Scheme != "rediss" || u.Hostname() == "" || u.Path != "" && u.Path != "/" && u.Path != "/0" {
		return errors.New("must be redis://user:password@host:6379, or rediss:// for TLS; the database is 0")
	}
	s.RateLimitRedisURL = value
	return nil
}

func logLevel(s *Settings, value string) error {
	if err := new(slog.Level).UnmarshalText([]byte(value)); err != nil {
		return fmt.Errorf("%q must be debug, info, warn or error", value)
	}
	return s.LogLevel.UnmarshalText([]byte(value))
}

func logFormat(s *Settings, value string) error {
	if value != "text" && value != "json" {
		return fmt.Errorf("%q must be text or json", value)
	}
	s.LogFormat = value
	return nil
}
