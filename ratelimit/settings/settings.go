package settings

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
)

// Settings are what the service is told by its environment. Each field's tags
// name its variable, its default and what it means.
type Settings struct {
	Host string `env:"HOST" envDefault:"0.0.0.0" doc:"address of the HTTP listener"`
	Port int    `env:"PORT" envDefault:"8080" doc:"port of the HTTP listener; 0 picks a free one"`

	GRPCHost                  string        `env:"GRPC_HOST" envDefault:"0.0.0.0" doc:"address of the gRPC listener"`
	GRPCPort                  int           `env:"GRPC_PORT" envDefault:"8081" doc:"port of the gRPC listener; 0 picks a free one"`
	GRPCMaxConnectionAge      time.Duration `env:"GRPC_MAX_CONNECTION_AGE" envDefault:"24h" doc:"age at which a connection is asked to close, with a jitter of 10% either way"`
	GRPCMaxConnectionAgeGrace time.Duration `env:"GRPC_MAX_CONNECTION_AGE_GRACE" envDefault:"1h" doc:"how long calls may go on after that"`

	RuntimeRoot           string `env:"RUNTIME_ROOT" envDefault:"/srv/runtime_data/current" doc:"directory of the configuration"`
	RuntimeSubdirectory   string `env:"RUNTIME_SUBDIRECTORY" doc:"directory below RUNTIME_ROOT"`
	RuntimeAppDirectory   string `env:"RUNTIME_APPDIRECTORY" envDefault:"config" doc:"directory below RUNTIME_SUBDIRECTORY; all files in it are read"`
	RuntimeIgnoreDotFiles bool   `env:"RUNTIME_IGNOREDOTFILES" envDefault:"false" doc:"leave out files and directories whose name begins with a dot"`
	MergeDomainConfig     bool   `env:"MERGE_DOMAIN_CONFIG" envDefault:"false" doc:"let several files describe one domain"`

	// ForceStart starts without a valid configuration.
	ForceStart bool `env:"FORCE_START_WITHOUT_INITIAL_CONFIG" envDefault:"false" doc:"start even if the configuration can't be loaded"`

	// Backend is one of the constants.
	Backend          string `env:"BACKEND_TYPE" envDefault:"embedded" doc:"where counters live; embedded: in this process"`
	EmbeddedMaxBytes int64  `env:"EMBEDDED_MAX_BYTES" envDefault:"536870912" doc:"most memory for embedded counters; when it is full, new keys share counters"`

	CacheKeyPrefix   string  `env:"CACHE_KEY_PREFIX" doc:"goes before the name of every counter"`
	ExpirationJitter int64   `env:"EXPIRATION_JITTER_MAX_SECONDS" envDefault:"300" doc:"by how many seconds at the most a counter may outlive its window"`
	NearLimitRatio   float32 `env:"NEAR_LIMIT_RATIO" envDefault:"0.8" doc:"part of a limit above which hits count as near it, 0 to 1"`
	LocalCacheSize   int     `env:"LOCAL_CACHE_SIZE_IN_BYTES" envDefault:"0" doc:"size of the cache of counters over their limit; 0 for none"`
	StopIncrement    bool    `env:"STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT" envDefault:"false" doc:"when one descriptor of a request is over its limit, leave the counters of the others as they are"`
	ShadowMode       bool    `env:"SHADOW_MODE" envDefault:"false" doc:"answer OK whatever the limits say"`
	QuotaMode        bool    `env:"QUOTA_MODE" envDefault:"false" doc:"treat every rule as one in quota mode"`
	DynamicMetadata  bool    `env:"RESPONSE_DYNAMIC_METADATA" envDefault:"false" doc:"add the request and the metadata of passed rules to answers"`
	ResponseHeaders  bool    `env:"LIMIT_RESPONSE_HEADERS_ENABLED" envDefault:"false" doc:"add the tightest limit to the response headers"`
	LimitHeader      string  `env:"LIMIT_LIMIT_HEADER" envDefault:"RateLimit-Limit" doc:"name of the header with the limit"`
	RemainingHeader  string  `env:"LIMIT_REMAINING_HEADER" envDefault:"RateLimit-Remaining" doc:"name of the header with what is left"`
	ResetHeader      string  `env:"LIMIT_RESET_HEADER" envDefault:"RateLimit-Reset" doc:"name of the header with the seconds until the window ends"`

	ShutdownDrainDelay time.Duration `env:"SHUTDOWN_DRAIN_DELAY" envDefault:"0s" doc:"how long to serve on, unhealthy, after SIGTERM"`
	ShutdownTimeout    time.Duration `env:"SHUTDOWN_TIMEOUT" envDefault:"30s" doc:"how long calls under way may then take, above 0"`

	LogLevel  string `env:"LOG_LEVEL" envDefault:"WARN" doc:"DEBUG, INFO, WARN or ERROR"`
	LogFormat string `env:"LOG_FORMAT" envDefault:"text" doc:"text or json"`
}

// Backends.
const (
	Embedded = "embedded" // counters in the process itself
)

// Parse reads the settings from environment variables. The error names every
// variable that makes no sense, one to a line, and what would.
func Parse(environ map[string]string) (*Settings, error) {
	if environ == nil {
		environ = map[string]string{} // to the parser nil is the process's environment
	}
	var s Settings
	err := env.ParseWithOptions(&s, env.Options{Environment: environ})
	errs := explain(err)
	if err == nil {
		errs = append(s.check(), checkStore(environ)...)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return &s, nil
}

// Default is Parse of an empty environment.
func Default() *Settings {
	s, err := Parse(nil)
	if err != nil {
		panic(err) // the table of this package contradicts itself
	}
	return s
}

// check finds values that have the right type and still make no sense.
func (s *Settings) check() []error {
	var errs []error
	complain := func(wrong bool, variable string, value any, right string) {
		if wrong {
			errs = append(errs, fmt.Errorf("%s: %v makes no sense: %s", variable, value, right))
		}
	}
	port := "use a port from 1 to 65535, or 0 for a free one"
	complain(s.Port < 0 || s.Port > 65535, "PORT", s.Port, port)
	complain(s.GRPCPort < 0 || s.GRPCPort > 65535, "GRPC_PORT", s.GRPCPort, port)
	complain(s.Port != 0 && s.Port == s.GRPCPort && s.Host == s.GRPCHost, "PORT", s.Port, "GRPC_PORT is the same")
	complain(!(s.NearLimitRatio >= 0 && s.NearLimitRatio <= 1), "NEAR_LIMIT_RATIO", s.NearLimitRatio, "use a number from 0 to 1")
	complain(s.LocalCacheSize < 0, "LOCAL_CACHE_SIZE_IN_BYTES", s.LocalCacheSize, "use a number of bytes, or 0 for no cache")
	complain(s.EmbeddedMaxBytes < 1<<20, "EMBEDDED_MAX_BYTES", s.EmbeddedMaxBytes, "use at least 1048576")
	complain(s.Backend != Embedded, "BACKEND_TYPE", fmt.Sprintf("%q", s.Backend), "this version has embedded counters only: use embedded")
	complain(!slices.Contains(logLevels, strings.ToUpper(s.LogLevel)), "LOG_LEVEL", fmt.Sprintf("%q", s.LogLevel), "use "+strings.Join(logLevels, ", "))
	complain(s.LogFormat != "text" && s.LogFormat != "json", "LOG_FORMAT", fmt.Sprintf("%q", s.LogFormat), "use text or json")
	complain(s.ShutdownTimeout <= 0, "SHUTDOWN_TIMEOUT", s.ShutdownTimeout, "use a duration above 0, such as 30s")
	for _, d := range []struct {
		variable string
		value    time.Duration
	}{
		{"GRPC_MAX_CONNECTION_AGE", s.GRPCMaxConnectionAge},
		{"GRPC_MAX_CONNECTION_AGE_GRACE", s.GRPCMaxConnectionAgeGrace},
		{"SHUTDOWN_DRAIN_DELAY", s.ShutdownDrainDelay},
	} {
		complain(d.value < 0, d.variable, d.value, "use a duration that is not negative, such as 30s")
	}
	return errs
}

// checkStore refuses an environment that was written for counters in Redis: to
// count in this process instead, without a word, would let clients have their
// limits once per instance.
func checkStore(environ map[string]string) []error {
	if environ["BACKEND_TYPE"] != "" {
		return nil // which check has looked at
	}
	for _, url := range []string{"KVSTORE_URL", "REDIS_URL"} {
		if environ[url] != "" {
			return []error{fmt.Errorf("%s: is set, but this version has embedded counters only: "+
				"unset it, or set BACKEND_TYPE=embedded to count in this process all the same", url)}
		}
	}
	return nil
}

var logLevels = []string{"DEBUG", "INFO", "WARN", "ERROR"}

// explain turns the parser's errors, which speak of fields, into ones that speak
// of variables.
func explain(err error) []error {
	if err == nil {
		return nil
	}
	all, ok := errors.AsType[env.AggregateError](err)
	if !ok {
		return []error{err}
	}
	var errs []error
	for _, e := range all.Errors {
		if p, ok := errors.AsType[env.ParseError](e); ok {
			e = fmt.Errorf("%s: %w", variableOf(p.Name), p.Err)
		}
		errs = append(errs, e)
	}
	return errs
}

func variableOf(field string) string {
	if f, ok := reflect.TypeFor[Settings]().FieldByName(field); ok {
		return f.Tag.Get("env")
	}
	return field
}

// Variable is one row of the table of settings.
type Variable struct {
	Name, Default, Doc string
}

// Table lists all settings, in the order of the Settings fields.
func Table() []Variable {
	t := reflect.TypeFor[Settings]()
	rows := make([]Variable, t.NumField())
	for i := range rows {
		tag := t.Field(i).Tag
		rows[i] = Variable{Name: tag.Get("env"), Default: tag.Get("envDefault"), Doc: tag.Get("doc")}
	}
	return rows
}
