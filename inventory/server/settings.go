package server

import (
	"log/slog"
	"net/netip"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory/auth"
)

// Settings are what a server is told. [Default] has those of an empty environment, [Parse]
// reads them; [Table] says what each is for.
type Settings struct {
	Addr string // host:port to listen on; no host is every address, port 0 any free one

	DatabaseURL     string // postgres://..., or the path of a SQLite file, or :memory:
	DatabaseReadURL string // a replica of a PostgreSQL, for what only reads; "" is none

	JWTSecret     string        // at least auth.MinKeyBytes bytes; "" has one made, and kept in the database
	JWTExpiration time.Duration // how long a token is good for

	MailHost     string // "" is no mail server
	MailPort     int
	MailUsername string
	MailPassword string
	FromAddress  string

	AdminUsername string // of the first admin, who is made if there is no admin yet
	AdminPassword string // "" has one made, and printed once

	RequireCurrentPassword bool // of who changes their own

	TrustedProxies []netip.Prefix // which may say whom a request is from
	AllowedOrigins []string       // of web pages that may use the API

	RateLimit         int    // requests a minute and client; 0 is no limit
	RateLimitRedisURL string // where the counters are; "" is this process

	TLSCert, TLSKey string // PEM files; both or none

	LogLevel  slog.Level
	LogFormat string // text or json
}

// Default are the settings of an empty environment.
func Default() *Settings {
	return &Settings{
		Addr:           ":3000",
		DatabaseURL:    "inventory.db",
		JWTExpiration:  auth.DefaultLifetime,
		MailPort:       587,
		FromAddress:    "inventory@localhost",
		AdminUsername:  "admin",
		AllowedOrigins: httpx.LocalOrigins(),
		RateLimit:      100,
		LogLevel:       slog.LevelInfo,
		LogFormat:      "text",
	}
}
