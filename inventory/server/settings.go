package server

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/internal/logformat"
	"github.com/ashlar-go/ashlar/internal/settings"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/auth/jwt"
)

// Settings configure a server. [Default] returns those of an empty environment, [Parse]
// reads them, and [Table] describes them.
type Settings struct {
	Addr string // host:port to listen on; an empty host means every address, port 0 a free one

	DatabaseURL            string        // postgres://..., or the path of a SQLite file, or :memory:
	DatabaseReadURL        string        // a replica of a PostgreSQL database for read-only requests; "" for none
	DatabaseTimeout        time.Duration // of each call to the database, waiting included
	DatabaseMaxConnections int           // to each PostgreSQL server, besides one for health checks; 0 for the default

	JWTSecret         string        // at least auth.MinKeyBytes bytes; "" means JWTSecretFile or a generated key in the database
	JWTSecretPrevious string        // an earlier or later JWTSecret, which verifies tokens too; "" for none
	JWTSecretFile     string        // a file with the key, created if it does not exist; "" for none
	JWTExpiration     time.Duration // lifetime of a token

	MailHost     string // "" for no mail server
	MailPort     int
	MailUsername string // "" for no SMTP login
	MailPassword string
	FromAddress  string

	MailAllowPlaintext bool // send mails without TLS to another machine

	PublicURL string // of this server, for links in mails, without a final slash; "" for mails without links

	AdminUsername string // of the first administrator, created if there is none yet
	AdminPassword string // "" generates one and prints it once

	RequireCurrentPassword bool // to change one's own password or email address
	Console                bool // serve web pages under /console

	TOTPIssuer string // names the inventory in authenticator apps

	OIDC OIDC // logins through an identity provider

	UniqueHostnames bool // across all locations
	// CaseSensitiveHostnames allows hostnames that differ in case only.
	CaseSensitiveHostnames bool

	TrustedProxies []netip.Prefix // proxies whose X-Forwarded-For is trusted
	AllowedHosts   []string       // names in the Host header besides those of the machine and of AllowedOrigins; httpx.AnyHost for all
	AllowedOrigins []string       // web origins that may use the API

	RateLimit         int    // requests per minute and client; 0 for no limit
	RateLimitRedisURL string // where the counters are stored; "" for this process

	Review []string // changes that have to be proposed: a resource and a role, such as devices:editor, in which * is all

	ImportPrivate   bool   // whether administrators may import from private addresses
	NetBoxAtRoot    bool   // whether clients of NetBox get the address of the server itself
	WebhooksPrivate bool   // whether webhooks may be sent to private addresses
	WebhooksKey     string // encrypts the secrets of webhooks; "" for a generated one in the database

	MaxConnections           int   // open connections; 0 for the default of httpx.ServeOptions
	MaxConnectionsPerAddress int   // of one client address, except for trusted proxies
	MaxRequestMemory         int64 // bytes for requests in progress

	HeavyQueries          int           // searches, counted totals and sorted lists that run at once; 0 for the default
	HeavyQueriesPerCaller int           // of one user
	HeavyQueryTimeout     time.Duration // of one of them

	AuditRetention  time.Duration // of entries of the audit log; 0 keeps them; see AutoRetention
	AuditMaxEntries int64         // the newest; 0 keeps any number
	EventRetention  time.Duration
	EventMax        int64

	MetricsRetention   time.Duration // of metrics by their time; 0 keeps them; see AutoRetention
	Metrics5mRetention time.Duration // of their summaries of five minutes
	Metrics1hRetention time.Duration // of their summaries of an hour

	PrometheusAddr         string // host:port of the page with metrics of the server; "" for none
	ChangeStreams          int    // change streams and requests that wait for changes; 0 for the default
	ChangeStreamsPerCaller int    // of one user

	BackupDir      string        // a directory for regular copies of a SQLite database; "" for none
	BackupInterval time.Duration // between two copies
	BackupKeep     int           // how many copies are kept

	TLSCert, TLSKey string // PEM files; both or none

	ShutdownDrainDelay time.Duration // how long a server that is not ready any more goes on serving

	Tracing Tracing

	LogLevel  slog.Level
	LogFormat string // text or json
}

// Tracing are the settings of traces.
type Tracing = settings.Tracing

// table returns a row for each setting, bound to the fields of s. Secrets have no flags:
// command lines are visible in process lists.
func table(s *Settings) []settings.Setting {
	rows := []settings.Setting{
		{Flag: "addr", Default: ":3000", Doc: "host:port to listen on; an empty host listens on all addresses, port 0 picks a free one", Value: settings.Text(&s.Addr, settings.CheckListen)},
		{Name: "DATABASE_URL", Default: "inventory.db", Doc: "database: the path of a SQLite file, which is created if it does not exist, :memory:, or postgres://user:password@host/database", Value: settings.Hidden(&s.DatabaseURL, checkDatabaseURL)},
		{Name: "DATABASE_READ_URL", Doc: "replica of the PostgreSQL database of DATABASE_URL for read-only requests; it may lag behind", Value: settings.Hidden(&s.DatabaseReadURL, checkReadURL)},
		{Name: "DATABASE_TIMEOUT", Default: "10s", Doc: "limit of each call to the database, with the time that it waits for a connection or a lock; a request makes up to four", Value: settings.Duration(&s.DatabaseTimeout, settings.From(100*time.Millisecond, 10*time.Minute))},
		{Name: "DATABASE_MAX_CONNECTIONS", Default: "16", Doc: "connections to each PostgreSQL server, besides one for health checks; if the server refuses further ones before, requests wait for those that are open", Value: settings.Int(&s.DatabaseMaxConnections, settings.From(2, 1000))},
		{Name: "JWT_SECRET", Secret: true, Doc: "key that signs tokens, at least 32 bytes; unset: that of JWT_SECRET_FILE, or a generated one that is stored in the database", Value: settings.Hidden(&s.JWTSecret, checkJWTSecret)},
		{Name: "JWT_SECRET_PREVIOUS", Secret: true, Doc: "another key that verifies tokens, while JWT_SECRET changes", Value: settings.Hidden(&s.JWTSecretPrevious, checkJWTSecret)},
		{Name: "JWT_SECRET_FILE", Doc: "file with the keys of tokens, created at the start with mode 0600 if it does not exist; rotate-key changes it. As text, one a line, the first signs and all verify", Value: settings.Text(&s.JWTSecretFile)},
		{Name: "JWT_EXPIRATION", Default: "24h", Doc: "lifetime of a token, such as 12h or 90m", Value: settings.Duration(&s.JWTExpiration, settings.From(time.Second, jwt.MaxLifetime))},
		{Name: "MAIL_HOST", Doc: "SMTP server for reset codes and for mails about changes of accounts; unset: mails are logged instead of sent", Value: settings.Text(&s.MailHost)},
		{Name: "MAIL_PORT", Default: "587", Doc: "SMTP port; on 465 the connection uses TLS from the start, otherwise STARTTLS is required unless the server is on this machine", Value: settings.Int(&s.MailPort, settings.From(1, 65535))},
		{Name: "MAIL_USERNAME", Doc: "SMTP user name; empty disables authentication", Value: settings.Text(&s.MailUsername)},
		{Name: "MAIL_PASSWORD", Secret: true, Doc: "SMTP password; the connection must then use TLS, unless the server is on this machine", Value: settings.Text(&s.MailPassword)},
		{Name: "MAIL_ALLOW_PLAINTEXT", Default: "false", Doc: "send mails, with their reset codes, without TLS to a server on another machine that does not offer STARTTLS", Value: settings.Bool(&s.MailAllowPlaintext)},
		{Name: "FROM_ADDRESS", Default: "inventory@localhost", Doc: "sender of mails", Value: settings.Text(&s.FromAddress, checkMailAddress)},
		{Name: "PUBLIC_URL", Doc: "URL of this server for links in mails, such as https://inventory.example.com; unset: mails have codes without links, and invitations are passed on by hand", Value: settings.Text(&s.PublicURL, checkPublicURL)},
		{Name: "ADMIN_USERNAME", Default: "admin", Doc: "user name of the first administrator, created at the first start", Value: settings.Hidden(&s.AdminUsername, checkNotEmpty)},
		{Name: "ADMIN_PASSWORD", Secret: true, Doc: "password of the first administrator; unset: one is generated and printed once", Value: settings.Text(&s.AdminPassword)},
		{Name: "CONSOLE", Default: "true", Doc: "serve web pages under /console/, where browsers that open / are led", Value: settings.Bool(&s.Console)},
		{Name: "REQUIRE_CURRENT_PASSWORD", Default: "true", Doc: "require the current password from users who change their own password or email address", Value: settings.Bool(&s.RequireCurrentPassword)},
		{Name: "TOTP_ISSUER", Default: "Inventory", Doc: "name of this inventory in the authenticator apps of users with a second factor", Value: settings.Text(&s.TOTPIssuer, checkNotEmpty)},
		{Name: "UNIQUE_HOSTNAMES", Default: "false", Doc: "require the hostnames of devices to be unique across all locations, not only within each; the start fails while devices share one", Value: settings.Bool(&s.UniqueHostnames)},
		{Name: "CASE_SENSITIVE_HOSTNAMES", Default: "false", Doc: "allow hostnames that differ in case only, such as sw1 and SW1", Value: settings.Bool(&s.CaseSensitiveHostnames)},
		{Name: "TRUSTED_PROXIES", Doc: "comma-separated networks of the proxies whose X-Forwarded-For is trusted, such as 10.0.0.0/8", Value: settings.Networks(&s.TrustedProxies)},
		{Name: "ALLOWED_HOSTS", Doc: "comma-separated names in the Host header besides those of the machine and of ALLOWED_ORIGINS, such as inventory.example.com or *.example.com; * allows all", Value: settings.List(&s.AllowedHosts, checkHost)},
		{Name: "ALLOWED_ORIGINS", Default: strings.Join(httpx.LocalOrigins(), ","), Doc: "comma-separated web origins whose pages may use the API", Value: settings.Func(s.parseOrigins)},
		{Name: "RATE_LIMIT", Default: "100", Doc: "requests per minute and client; 0 means no limit", Value: settings.Int(&s.RateLimit, settings.From(0, 1<<31-1))},
		{Name: "RATE_LIMIT_REDIS_URL", Doc: "Redis server that stores the counters, to share them among several servers: redis://user:password@host:6379, rediss:// for TLS; unset: this process", Value: settings.Hidden(&s.RateLimitRedisURL, checkRedisURL)},
		{Name: "REVIEW", Doc: "comma-separated resources and roles whose changes another user has to approve, such as devices:admin,links:editor; * is all", Value: settings.List(&s.Review)},
		{Name: "IMPORT_PRIVATE", Default: "false", Doc: "let administrators import from a NetBox at an address of this machine or of a private network", Value: settings.Bool(&s.ImportPrivate)},
		{Name: "NETBOX_AT_ROOT", Default: "false", Doc: "answer clients of NetBox at /api/ too, so that they get the address of the server without /netbox", Value: settings.Bool(&s.NetBoxAtRoot)},
		{Name: "WEBHOOKS_PRIVATE", Default: "false", Doc: "let webhooks be sent to addresses of this machine or of a private network", Value: settings.Bool(&s.WebhooksPrivate)},
		{Name: "WEBHOOKS_KEY", Secret: true, Doc: "key that encrypts the secrets of webhooks in the database, at least 32 bytes; unset: a generated one that is stored there too", Value: settings.Hidden(&s.WebhooksKey, checkJWTSecret)},
		{Name: "MAX_CONNECTIONS", Default: "1024", Doc: "maximum number of open connections", Value: settings.Int(&s.MaxConnections, settings.From(1, 1<<20))},
		{Name: "MAX_CONNECTIONS_PER_ADDRESS", Default: "128", Doc: "maximum number of open connections of one client address; proxies may have more", Value: settings.Int(&s.MaxConnectionsPerAddress, settings.From(1, 1<<20))},
		{Name: "MAX_REQUEST_MEMORY", Default: "134217728", Doc: "bytes of memory for requests in progress, half of them for one client", Value: settings.Int(&s.MaxRequestMemory, settings.AtLeast[int64](4<<20))},
		{Name: "HEAVY_QUERIES", Default: "0", Doc: "searches, counted totals, sorted lists without an index and overviews that run at once; 0 means half of the processors, 3 to 8", Value: settings.Int(&s.HeavyQueries, settings.From(0, 1000))},
		{Name: "HEAVY_QUERIES_PER_CALLER", Default: "2", Doc: "how many of them one user runs at once; 32 more wait, further ones get 429", Value: settings.Int(&s.HeavyQueriesPerCaller, settings.From(1, 1000))},
		{Name: "HEAVY_QUERY_TIMEOUT", Default: "5s", Doc: "how long one of them may wait and run; then it fails with 429 or 503", Value: settings.Duration(&s.HeavyQueryTimeout, settings.From(100*time.Millisecond, time.Minute))},
		{Name: "METRICS_RETENTION", Default: "auto", Doc: "how long metrics are kept, such as 168h, by their time; 0 keeps them, otherwise at least 2h; auto: 720h in a database that was created with this default, all in others", Value: retention(&s.MetricsRetention)},
		{Name: "METRICS_5M_RETENTION", Default: "0s", Doc: "how long their summaries of five minutes are kept; 0 keeps them", Value: settings.Duration(&s.Metrics5mRetention, settings.From(0, maxRetention))},
		{Name: "METRICS_1H_RETENTION", Default: "0s", Doc: "how long their summaries of an hour are kept; 0 keeps them", Value: settings.Duration(&s.Metrics1hRetention, settings.From(0, maxRetention))},
		{Name: "AUDIT_RETENTION", Default: "auto", Doc: "how long entries of the audit log are kept, such as 8760h; 0 keeps them; auto: 8760h in a database that was created with this default, all in others", Value: retention(&s.AuditRetention)},
		{Name: "AUDIT_MAX_ENTRIES", Default: "0", Doc: "how many entries of the audit log are kept, the newest; 0 keeps any number", Value: settings.Int(&s.AuditMaxEntries, settings.AtLeast[int64](0))},
		{Name: "EVENT_RETENTION", Default: "0s", Doc: "how long events are kept, such as 2160h; 0 keeps them", Value: settings.Duration(&s.EventRetention, settings.From(0, maxRetention))},
		{Name: "EVENT_MAX", Default: "0", Doc: "how many events are kept, the newest; 0 keeps any number", Value: settings.Int(&s.EventMax, settings.AtLeast[int64](0))},
		{Name: "PROMETHEUS_ADDR", Doc: "host:port of a page with metrics of the server for Prometheus, /metrics, such as 127.0.0.1:9100; it needs no token; unset: no such page", Value: settings.Text(&s.PrometheusAddr, checkOptionalListen)},
		{Name: "CHANGE_STREAMS", Default: "200", Doc: "change streams, and requests that wait for changes, that are open at once; each holds a connection", Value: settings.Int(&s.ChangeStreams, settings.From(1, 1<<20))},
		{Name: "CHANGE_STREAMS_PER_CALLER", Default: "10", Doc: "how many of them one user may have; further ones get 429", Value: settings.Int(&s.ChangeStreamsPerCaller, settings.From(1, 1<<20))},
		{Name: "BACKUP_DIR", Doc: "directory for regular copies of the SQLite database, inventory-TIME.db, created if it does not exist; unset: no copies", Value: settings.Text(&s.BackupDir)},
		{Name: "BACKUP_INTERVAL", Default: "24h", Doc: "time between two copies", Value: settings.Duration(&s.BackupInterval, settings.From(time.Minute, 366*24*time.Hour))},
		{Name: "BACKUP_KEEP", Default: "7", Doc: "number of copies that are kept, the newest", Value: settings.Int(&s.BackupKeep, settings.From(1, 10_000))},
		{Name: "TLS_CERT", Doc: "PEM file of the certificate chain; changes take effect without a restart", Value: settings.Text(&s.TLSCert)},
		{Name: "TLS_KEY", Doc: "PEM file of the private key", Value: settings.Text(&s.TLSKey)},
		{Name: "SHUTDOWN_DRAIN_DELAY", Default: "0s", Doc: "how long to keep serving after SIGTERM while /readyz is 503, so that load balancers notice", Value: settings.Duration(&s.ShutdownDrainDelay, settings.From(0, time.Hour))},
		{Name: "LOG_LEVEL", Default: "info", Doc: "debug, info, warn or error; info logs each request", Value: settings.Func(s.parseLogLevel)},
		{Name: "LOG_FORMAT", Default: "text", Doc: "text or json", Value: settings.OneOf(&s.LogFormat, "text", "json")},
	}
	rows = append(append(rows, oidcTable(&s.OIDC)...), s.Tracing.Rows("inventory")...)
	for i := range rows {
		if row := &rows[i]; row.Flag == "" && !row.Secret {
			row.Flag = strings.ReplaceAll(strings.ToLower(row.Name), "_", "-")
		}
	}
	return rows
}

// Setting describes a setting.
type Setting struct {
	Env     string // the environment variable; empty if only a flag sets it
	Flag    string // without the dash; empty for secrets
	Default string
	Doc     string
	Secret  bool // never shown
}

// Table describes all settings, in the order of the documentation.
func Table() []Setting {
	var all []Setting
	for _, row := range table(&Settings{}) {
		all = append(all, Setting{row.Name, row.Flag, row.Default, row.Doc, row.Secret})
	}
	return all
}

// Flags defines a flag for each setting that has one. Once the flags have been parsed,
// given returns those that were set, by name, for [Parse].
func Flags(flags *flag.FlagSet) (given func() map[string]string) {
	return settings.Flags(flags, table(&Settings{}))
}

// Parse reads the settings from environment variables and from flags, by their names,
// which override variables. An empty variable counts as unset. The error names every
// invalid setting, one to a line, and shows no secrets.
func Parse(environ, flags map[string]string) (*Settings, error) {
	s := &Settings{}
	r := settings.Read(table(s), environ, flags)
	if (s.TLSCert == "") != (s.TLSKey == "") {
		r.Fail("TLS_CERT", errors.New("TLS_CERT, TLS_KEY: only one of them is set: set both, or neither"))
	}
	r.Require(s.JWTSecretFile == "" || s.JWTSecret == "", "JWT_SECRET_FILE", "can't be used together with $JWT_SECRET: unset one of them")
	r.Require(s.JWTSecretPrevious == "" || s.JWTSecret != "", "JWT_SECRET_PREVIOUS", "needs a key that signs: set $JWT_SECRET, or unset this")
	r.Require(s.DatabaseReadURL == "" || isPostgres(s.DatabaseURL), "DATABASE_READ_URL", "requires PostgreSQL: unset it, or set $DATABASE_URL to a PostgreSQL database")
	if err := auth.CheckPassword(s.AdminPassword, s.AdminUsername); s.AdminPassword != "" && err != nil {
		r.Fail("ADMIN_PASSWORD", fmt.Errorf("ADMIN_PASSWORD: %w", err))
	}
	r.Require(s.MetricsRetention == 0 || s.MetricsRetention == AutoRetention || s.MetricsRetention >= 2*time.Hour, "METRICS_RETENTION", "is shorter than 2h, in which metrics are summarized: use 2h or longer, or 0 to keep metrics")
	r.Require(s.AuditRetention == 0 || s.AuditRetention == AutoRetention || s.AuditRetention >= time.Hour, "AUDIT_RETENTION", "is shorter than 1h: use 1h or longer, or 0 to keep all entries")
	r.Require(s.EventRetention == 0 || s.EventRetention >= time.Hour, "EVENT_RETENTION", "is shorter than 1h: use 1h or longer, or 0 to keep all events")
	r.Require(s.BackupDir == "" || !isPostgres(s.DatabaseURL) && s.DatabaseURL != ":memory:", "BACKUP_DIR", "requires a SQLite file: unset it, and run inventoryd backup regularly for PostgreSQL")
	r.Require(s.MailPassword == "" || s.MailUsername != "", "MAIL_PASSWORD", "needs a user name: set $MAIL_USERNAME, or unset this")
	checkOIDC(&s.OIDC, r)
	if err := r.Err(); err != nil {
		return nil, err
	}
	return s, nil
}

// Default returns the settings of an empty environment.
func Default() *Settings {
	s, err := Parse(nil, nil)
	if err != nil {
		panic(err) // a default in the table is invalid
	}
	return s
}

var (
	checkNotEmpty = settings.Match(`\S`, "must not be empty")
	checkReadURL  = settings.Match(`^postgres(ql)?://`, "is not a PostgreSQL URL: use postgres://user:password@host/database")
)

// checkPublicURL accepts a URL that a path can follow.
var checkPublicURL = settings.Match(`^(https?://[^\s/?#@]+(/[^\s?#]*[^\s?#/])?)?$`, "is not a URL: use one such as https://inventory.example.com, without a slash at the end")

// maxRetention is a hundred years.
const maxRetention = 100 * 365 * 24 * time.Hour

func checkOptionalListen(value string) error {
	if value == "" {
		return nil
	}
	return settings.CheckListen(value)
}

func isPostgres(value string) bool {
	return strings.HasPrefix(value, "postgres://") || strings.HasPrefix(value, "postgresql://")
}

func checkDatabaseURL(value string) error {
	if scheme, _, ok := strings.Cut(value, "://"); ok && !isPostgres(value) {
		return fmt.Errorf("unknown database %q: use the path of a SQLite file, or postgres://user:password@host/database", scheme)
	}
	if _, err := url.Parse(value); err != nil && isPostgres(value) {
		return errors.New("is not a URL: use postgres://user:password@host/database, with special characters as %XX")
	}
	return nil
}

func checkJWTSecret(value string) error {
	if len(value) < auth.MinKeyBytes {
		return fmt.Errorf("has %d bytes: use at least %d, such as the output of openssl rand -hex 32", len(value), auth.MinKeyBytes)
	}
	return nil
}

func checkMailAddress(value string) error {
	if _, err := mail.ParseAddress(value); err != nil {
		return errors.New("is not a mail address: use one such as inventory@example.com")
	}
	return nil
}

func checkRedisURL(value string) error {
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "redis" && u.Scheme != "rediss" || u.Hostname() == "" || u.Path != "" && u.Path != "/" && u.Path != "/0" {
		return errors.New("is not a Redis URL: use redis://user:password@host:6379, or rediss:// for TLS; only database 0 is supported")
	}
	return nil
}

func checkHost(name string) error {
	if _, err := httpx.NewHosts(&net.TCPAddr{}, &httpx.HostsOptions{Names: []string{name}}); err != nil {
		return errors.New("is not a host: use a name such as inventory.example.com or *.example.com, an IP address, or * for all")
	}
	return nil
}

func (s *Settings) parseOrigins(value string) error {
	origins := settings.Split(value)
	if _, err := httpx.NewOrigins(origins); err != nil {
		return err
	}
	s.AllowedOrigins = origins
	return nil
}

func (s *Settings) parseLogLevel(value string) error {
	if err := s.LogLevel.UnmarshalText([]byte(value)); err != nil {
		return fmt.Errorf("unknown level %q: use debug, info, warn or error", value)
	}
	return nil
}

// NewLog returns a logger with LOG_LEVEL and LOG_FORMAT that writes to w.
func NewLog(w io.Writer, s *Settings) *slog.Logger { return logformat.New(w, s.LogLevel, s.LogFormat) }
