package server_test

import (
	"flag"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/errtest"
	"github.com/ashlar-go/ashlar/inventory/server"
)

// TestDefaults checks that the defaults in the table equal the settings of an empty environment.
func TestDefaults(t *testing.T) {
	t.Parallel()
	empty, err := server.Parse(nil, nil)
	require.NoError(t, err)
	require.Equal(t, server.Default(), empty)
	environ, flags := map[string]string{}, map[string]string{}
	for _, v := range server.Table() {
		if v.Default == "" {
			continue
		}
		if v.Env == "" {
			flags[v.Flag] = v.Default
			continue
		}
		environ[v.Env] = v.Default
	}
	written, err := server.Parse(environ, flags)
	require.NoError(t, err)
	require.Equal(t, empty, written)
}

func TestEverySettingIsRead(t *testing.T) {
	t.Parallel()
	s, err := server.Parse(map[string]string{
		"DATABASE_URL": "postgres://jane:secret@db.example/inventory", "DATABASE_READ_URL": "postgresql://replica/inventory", "DATABASE_TIMEOUT": "1m", "DATABASE_MAX_CONNECTIONS": "5",
		"JWT_SECRET": strings.Repeat("s", 32), "JWT_SECRET_PREVIOUS": strings.Repeat("p", 32), "JWT_EXPIRATION": "90m",
		"MAIL_HOST": "mail.example", "MAIL_PORT": "465", "MAIL_USERNAME": "mailer", "MAIL_PASSWORD": "pw", "MAIL_ALLOW_PLAINTEXT": "true", "FROM_ADDRESS": "NOC <noc@example.com>",
		"ADMIN_USERNAME": "root", "ADMIN_PASSWORD": "a long enough one", "REQUIRE_CURRENT_PASSWORD": "false", "CONSOLE": "false", "UNIQUE_HOSTNAMES": "true", "CASE_SENSITIVE_HOSTNAMES": "true",
		"TOTP_ISSUER":     "Lab",
		"TRUSTED_PROXIES": "10.1.2.3/8, fd00::/8,192.0.2.1", "ALLOWED_ORIGINS": "https://noc.example, https://ops.example",
		"RATE_LIMIT": "7", "RATE_LIMIT_REDIS_URL": "rediss://u:p@redis.example:6380/0",
		"ALLOWED_HOSTS": "api.example, *.noc.example", "MAX_CONNECTIONS": "9", "MAX_CONNECTIONS_PER_ADDRESS": "8", "MAX_REQUEST_MEMORY": "8000000",
		"HEAVY_QUERIES": "4", "HEAVY_QUERIES_PER_CALLER": "3", "HEAVY_QUERY_TIMEOUT": "7s", "PROMETHEUS_ADDR": "127.0.0.1:0",
		"CHANGE_STREAMS": "20", "CHANGE_STREAMS_PER_CALLER": "2",
		"METRICS_RETENTION": "48h", "METRICS_5M_RETENTION": "720h", "METRICS_1H_RETENTION": "8760h",
		"AUDIT_RETENTION": "8760h", "AUDIT_MAX_ENTRIES": "1000000", "EVENT_RETENTION": "720h", "EVENT_MAX": "5000",
		"TLS_CERT": "c.pem", "TLS_KEY": "k.pem", "LOG_LEVEL": "WARN", "LOG_FORMAT": "json",
		"BACKUP_INTERVAL": "6h", "BACKUP_KEEP": "28", "SHUTDOWN_DRAIN_DELAY": "15s", "TRACING_ENABLED": "true", "TRACING_EXPORTER_PROTOCOL": "grpc",
		"TRACING_SERVICE_NAME": "n", "TRACING_SERVICE_NAMESPACE": "s", "TRACING_SERVICE_INSTANCE_ID": "i", "TRACING_SAMPLING_RATE": "0.5",
	}, map[string]string{"addr": "127.0.0.1:0"})
	require.NoError(t, err)
	require.Equal(t, &server.Settings{
		BackupInterval: 6 * time.Hour, BackupKeep: 28, ShutdownDrainDelay: 15 * time.Second,
		Tracing: server.Tracing{Enabled: true, Protocol: "grpc", ServiceName: "n", ServiceNamespace: "s", ServiceInstanceID: "i", SamplingRate: 0.5},
		Addr:    "127.0.0.1:0", DatabaseURL: "postgres://jane:secret@db.example/inventory", DatabaseReadURL: "postgresql://replica/inventory", DatabaseTimeout: time.Minute, DatabaseMaxConnections: 5,
		JWTSecret: strings.Repeat("s", 32), JWTSecretPrevious: strings.Repeat("p", 32), JWTExpiration: 90 * time.Minute,
		MailHost: "mail.example", MailPort: 465, MailUsername: "mailer", MailPassword: "pw", MailAllowPlaintext: true, FromAddress: "NOC <noc@example.com>",
		AdminUsername: "root", AdminPassword: "a long enough one", UniqueHostnames: true, CaseSensitiveHostnames: true,
		TOTPIssuer:     "Lab",
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8"), netip.MustParsePrefix("192.0.2.1/32")},
		AllowedOrigins: []string{"https://noc.example", "https://ops.example"},
		RateLimit:      7, RateLimitRedisURL: "rediss://u:p@redis.example:6380/0",
		AllowedHosts: []string{"api.example", "*.noc.example"}, MaxConnections: 9, MaxConnectionsPerAddress: 8, MaxRequestMemory: 8_000_000,
		HeavyQueries: 4, HeavyQueriesPerCaller: 3, HeavyQueryTimeout: 7 * time.Second, PrometheusAddr: "127.0.0.1:0",
		ChangeStreams: 20, ChangeStreamsPerCaller: 2,
		OIDC:             server.OIDC{Scopes: []string{"profile", "email"}},
		MetricsRetention: 48 * time.Hour, Metrics5mRetention: 720 * time.Hour, Metrics1hRetention: 8760 * time.Hour,
		AuditRetention: 8760 * time.Hour, AuditMaxEntries: 1_000_000, EventRetention: 720 * time.Hour, EventMax: 5000,
		TLSCert: "c.pem", TLSKey: "k.pem", LogLevel: slog.LevelWarn, LogFormat: "json",
	}, s)
}

// TestFlagsComeFirst checks that a flag overrides its variable, and that secrets have no flags.
func TestFlagsComeFirst(t *testing.T) {
	t.Parallel()
	flags := flag.NewFlagSet("test", flag.ContinueOnError)
	given := server.Flags(flags)
	require.NoError(t, flags.Parse([]string{"-rate-limit", "0", "-database-url", ":memory:"}))
	s, err := server.Parse(map[string]string{"RATE_LIMIT": "5", "MAIL_HOST": "mail.example", "DATABASE_URL": ""}, given())
	require.NoError(t, err)
	assert.Equal(t, 0, s.RateLimit)
	assert.Equal(t, ":memory:", s.DatabaseURL)
	assert.Equal(t, "mail.example", s.MailHost)
	for _, v := range server.Table() {
		assert.Equal(t, v.Secret, v.Flag == "", v)
		if v.Flag != "" {
			assert.NotNil(t, flags.Lookup(v.Flag), v)
		}
		assert.NotEmpty(t, v.Doc, v)
	}
}

func TestWrongSettings(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		environ, flags map[string]string
		want           []string
	}{
		"an address without a port": {nil, map[string]string{"addr": "localhost"}, []string{`-addr: "localhost" host:port`}},
		"an unknown flag":           {nil, map[string]string{"adr": ":1"}, []string{"-adr: unknown setting"}},
		"another database":          {map[string]string{"DATABASE_URL": "mysql://u:hunter2@h/d"}, nil, []string{`DATABASE_URL: unknown database "mysql"`}},
		"no URL":                    {map[string]string{"DATABASE_URL": "postgres://u:hunter2%@h/d"}, nil, []string{"DATABASE_URL: URL"}},
		"a replica of a file":       {map[string]string{"DATABASE_READ_URL": "postgres://h/d"}, nil, []string{"DATABASE_READ_URL: requires PostgreSQL"}},
		"a replica that is a file":  {map[string]string{"DATABASE_URL": "postgres://h/d", "DATABASE_READ_URL": "x.db"}, nil, []string{"DATABASE_READ_URL: postgres://"}},
		"a short secret":            {map[string]string{"JWT_SECRET": "hunter2"}, nil, []string{"JWT_SECRET: 7 32"}},
		"two secrets":               {map[string]string{"JWT_SECRET": strings.Repeat("s", 32), "JWT_SECRET_FILE": "x"}, nil, []string{"JWT_SECRET_FILE: JWT_SECRET"}},
		"a previous secret only":    {map[string]string{"JWT_SECRET_PREVIOUS": strings.Repeat("s", 32)}, nil, []string{"JWT_SECRET_PREVIOUS: signs"}},
		"no duration":               {map[string]string{"JWT_EXPIRATION": "a day"}, nil, []string{"JWT_EXPIRATION: \"a duration 8760h"}},
		"no port":                   {map[string]string{"MAIL_PORT": "0"}, nil, []string{"MAIL_PORT: \"0\" 65535"}},
		"no mail address":           {map[string]string{"FROM_ADDRESS": "noc"}, nil, []string{"FROM_ADDRESS: \"noc\""}},
		"a password without a user": {map[string]string{"MAIL_PASSWORD": "hunter2"}, nil, []string{"MAIL_PASSWORD: MAIL_USERNAME"}},
		"an empty admin":            {map[string]string{"ADMIN_USERNAME": " "}, nil, []string{"ADMIN_USERNAME: empty"}},
		"a weak password":           {map[string]string{"ADMIN_PASSWORD": "hunter2"}, nil, []string{"ADMIN_PASSWORD:"}},
		"no boolean":                {map[string]string{"REQUIRE_CURRENT_PASSWORD": "maybe"}, nil, []string{"REQUIRE_CURRENT_PASSWORD: \"maybe\" true"}},
		"no network":                {map[string]string{"TRUSTED_PROXIES": "10.0.0.0/8,proxy"}, nil, []string{`TRUSTED_PROXIES: "proxy"`}},
		"no host":                   {map[string]string{"ALLOWED_HOSTS": "https://noc.example"}, nil, []string{`ALLOWED_HOSTS: "https://noc.example" name`}},
		"no origin":                 {map[string]string{"ALLOWED_ORIGINS": "noc.example"}, nil, []string{"ALLOWED_ORIGINS:"}},
		"a negative limit":          {map[string]string{"RATE_LIMIT": "-1"}, nil, []string{"RATE_LIMIT: \"-1\" 0"}},
		"no Redis":                  {map[string]string{"RATE_LIMIT_REDIS_URL": "http://:hunter2@h"}, nil, []string{"RATE_LIMIT_REDIS_URL: redis://"}},
		"a certificate by itself":   {map[string]string{"TLS_CERT": "c.pem"}, nil, []string{"TLS_CERT TLS_KEY one"}},
		"no level":                  {map[string]string{"LOG_LEVEL": "loud"}, nil, []string{`LOG_LEVEL: "loud" debug info`}},
		"backups":                   {map[string]string{"BACKUP_DIR": "copies", "DATABASE_URL": "postgres://h/d"}, nil, []string{`BACKUP_DIR: SQLite`}},
		"no format":                 {map[string]string{"LOG_FORMAT": "xml"}, nil, []string{`LOG_FORMAT: "xml" text json`}},
		"all at once":               {map[string]string{"LOG_FORMAT": "xml", "RATE_LIMIT": "x"}, nil, []string{"LOG_FORMAT:", "RATE_LIMIT:"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := server.Parse(tc.environ, tc.flags)
			for _, want := range tc.want {
				errtest.Want(t, err, want)
			}
			assert.NotContains(t, err.Error(), "hunter2", "an error must not show a secret")
		})
	}
}

// TestReview: names in REVIEW that nothing has are errors at the start.
func TestReview(t *testing.T) {
	t.Parallel()
	for _, wrong := range []string{"device:admin", "devices:boss", "users:admin", "devices"} {
		_, err := server.New(t.Context(), settings(t, map[string]string{"REVIEW": "links:*," + wrong}), nil)
		require.ErrorContains(t, err, "REVIEW", wrong)
	}
}
