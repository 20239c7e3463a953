package server

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/inventory/auth"
)

// Setting is the description of one setting. Its environment variable, its flag and its
// line in the documentation are all made from it.
type Setting struct {
	Env     string // the environment variable; "" if only a flag sets it
	Flag    string // without the dash; "" for a secret, which others could read from a list of processes
	Default string
	Doc     string
	Secret  bool // never shown

	read func(s *Settings, value string) error
}

// Name is the variable, or else the flag.
func (v *Setting) Name() string {
	if v.Env != "" {
		return v.Env
	}
	return "-" + v.Flag
}

// Table is all settings, in the order in which they are documented.
func Table() []Setting {
	d := Default()
	return []Setting{
		{
			Flag: "addr", Default: d.Addr, Doc: "host:port to listen on; without a host at every address, with port 0 at any free one",
			read: listenAddr,
		},
		row("DATABASE_URL", d.DatabaseURL, "where the records are: the path of a SQLite file, which is made if it is not there, :memory:, or postgres://user:password@host/database",
			databaseURL),
		row("DATABASE_READ_URL", "", "a replica of the PostgreSQL of DATABASE_URL, which answers what only reads; it may lag behind", readURL),
		secret("JWT_SECRET", "signs tokens: at least 32 bytes; unset, one is made and kept in the database", jwtSecret),
		row("JWT_EXPIRATION", "24h", "how long a token is good for, such as 12h or 90m", jwtExpiration),
		row("MAIL_HOST", "", "the mail server for password resets; without one the log says which mail was not sent", text(func(s *Settings) *string { return &s.MailHost })),
		row("MAIL_PORT", "587", "its port; on 465 the connection is TLS from the beginning", mailPort),
		row("MAIL_USERNAME", "", "whom to log in as there; empty is no login", text(func(s *Settings) *string { return &s.MailUsername })),
		secret("MAIL_PASSWORD", "the password for that; with one the connection must be TLS, unless the server is on this machine", text(func(s *Settings) *string { return &s.MailPassword })),
		row("FROM_ADDRESS", d.FromAddress, "whom mails are from", fromAddress),
		row("ADMIN_USERNAME", d.AdminUsername, "name of the first admin, who is made at the first start", notEmpty(func(s *Settings) *string { return &s.AdminUsername })),
		secret("ADMIN_PASSWORD", "password of the first admin; unset, one is made and printed once", text(func(s *Settings) *string { return &s.AdminPassword })),
		row("REQUIRE_CURRENT_PASSWORD", "false", "true: who changes their own password must send the one they have", boolean(func(s *Settings) *bool { return &s.RequireCurrentPassword })),
		row("TRUSTED_PROXIES", "", "networks, with commas between them, of the proxies whose X-Forwarded-For is believed, such as 10.0.0.0/8", proxies),
		row("ALLOWED_ORIGINS", strings.Join(d.AllowedOrigins, ","), "web origins, with commas between them, whose pages may use the API", origins),
		row("RATE_LIMIT", "100", "requests a minute of one client; 0 is no limit", rateLimit),
		row("RATE_LIMIT_REDIS_URL", "", "a Redis for the counters, so that several servers share them: redis://user:password@host:6379, rediss:// for TLS; without one they are in this process", redisURL),
		row("TLS_CERT", "", "PEM file of the certificate, its chain included; a new one is taken without a restart", text(func(s *Settings) *string { return &s.TLSCert })),
		row("TLS_KEY", "", "PEM file of its key", text(func(s *Settings) *string { return &s.TLSKey })),
		row("LOG_LEVEL", "info", "debug, info, warn or error; info has a record of each request", logLevel),
		row("LOG_FORMAT", d.LogFormat, "text or json", logFormat),
	}
}

func row(env, byDefault, doc string, read func(*Settings, string) error) Setting {
	return Setting{Env: env, Flag: strings.ReplaceAll(strings.ToLower(env), "_", "-"), Default: byDefault, Doc: doc, read: read}
}

func secret(env, doc string, read func(*Settings, string) error) Setting {
	return Setting{Env: env, Doc: doc, Secret: true, read: read}
}

// Flags adds a flag for each setting that has one. Once flags are parsed, given is what
// was set, by the names of the flags, for [Parse].
func Flags(flags *flag.FlagSet) (given func() map[string]string) {
	values := map[string]*string{}
	for _, v := range Table() {
		if v.Flag == "" {
			continue
		}
		doc := v.Doc
		if v.Env != "" {
			doc += "; " + v.Env
		}
		values[v.Flag] = flags.String(v.Flag, v.Default, doc)
	}
	return func() map[string]string {
		set := map[string]string{}
		flags.Visit(func(f *flag.Flag) {
			if value, ours := values[f.Name]; ours {
				set[f.Name] = *value
			}
		})
		return set
	}
}

// Parse reads settings from environment variables and from flags, by their names, which
// come before the variables. An empty variable is one that is not set. The error has
// everything that is wrong; it does not show secrets.
func Parse(environ, flags map[string]string) (*Settings, error) {
	s := Default()
	var wrong []error
	table := Table()
	for _, v := range table {
		value, name := environ[v.Env], v.Env
		if given, ok := flags[v.Flag]; ok && v.Flag != "" {
			value, name = given, "-"+v.Flag
		} else if value == "" {
			continue
		}
		if err := v.read(s, value); err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", name, err))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		if !slices.ContainsFunc(table, func(v Setting) bool { return v.Flag == name }) {
			wrong = append(wrong, fmt.Errorf("-%s: there is no such setting", name))
		}
	}
	if err := errors.Join(append(wrong, s.together())...); err != nil {
		return nil, err
	}
	return s, nil
}

// together looks at settings that need each other.
func (s *Settings) together() error {
	var wrong []error
	if (s.TLSCert == "") != (s.TLSKey == "") {
		wrong = append(wrong, errors.New("TLS_CERT, TLS_KEY: one is set without the other: set both, or none"))
	}
	if s.DatabaseReadURL != "" && !isPostgres(s.DatabaseURL) {
		wrong = append(wrong, errors.New("DATABASE_READ_URL: there are no replicas of a SQLite file: leave it out, or set DATABASE_URL to a PostgreSQL"))
	}
	if s.AdminPassword != "" {
		if err := auth.CheckPassword(s.AdminPassword, s.AdminUsername); err != nil {
			wrong = append(wrong, fmt.Errorf("ADMIN_PASSWORD: %w", err))
		}
	}
	if s.MailPassword != "" && s.MailUsername == "" {
		wrong = append(wrong, errors.New("MAIL_PASSWORD: is set without MAIL_USERNAME"))
	}
	return errors.Join(wrong...)
}
