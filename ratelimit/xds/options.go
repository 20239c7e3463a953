package xds

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc"

	"github.com/ashlar-go/ashlar/internal/settings"
	"github.com/ashlar-go/ashlar/ratelimit"
)

// Options configure a [Client]. Nil, like each zero field, means the default.
type Options struct {
	// NodeID identifies the client, by which servers select the configuration; empty
	// means "default" (CONFIG_GRPC_XDS_NODE_ID).
	NodeID string
	// NodeMetadata is sent with the id (CONFIG_GRPC_XDS_NODE_METADATA).
	NodeMetadata map[string]string
	// Headers are sent when a stream is opened
	// (CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS). A name may occur several times.
	// Values appear in no log and no error.
	Headers []Header

	// TLS encrypts the connection; nil means plain text. With Certificates or
	// GetClientCertificate it is mutual. ServerName is the name that the server's
	// certificate must have if it is not the host of the target
	// (CONFIG_GRPC_XDS_SERVER_TLS_SAN). It must not be changed afterwards.
	TLS *tls.Config
	// MaxMessageBytes bounds the length of a response; 0 means 4 MiB
	// (XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES).
	MaxMessageBytes int

	// RetryInterval replaces Backoff.Initial until the server was reached for the first
	// time; 0 means 3 s (CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL).
	RetryInterval time.Duration
	// Backoff is the schedule of attempts. It starts over after a stream that had a
	// response and lasted for Backoff.Initial, or that lasted for Backoff.Max.
	Backoff Backoff

	// MergeDomains lets several resources describe one domain (MERGE_DOMAIN_CONFIG):
	// their rules are joined in the order of the resources' names. By default the second
	// resource is a fault.
	MergeDomains bool
	// CalendarMonths is ratelimit.CompileOptions.CalendarMonths (USE_CALENDAR_MONTH_RATE_LIMIT).
	CalendarMonths bool
	// Fields are those that a rule may have. Default: ratelimit.Fields().
	Fields []ratelimit.Field
	// Strict rejects a response as a whole if one of its resources can't be used. By
	// default the others are used: one invalid rule does not keep the configuration of
	// other domains from changing.
	Strict bool

	// Log receives connections and ignored responses, but not the errors that Run
	// passes to failed; nil means slog.Default().
	Log *slog.Logger
	// DialOptions follow those derived from the fields above, such as an interceptor or
	// a dialer.
	DialOptions []grpc.DialOption
}

// Backoff is the schedule of attempts to reach the server. The wait after the n-th
// failure in a row, counted from 0, is
//
//	min(Max, Initial × (1+Factor)^n)
type Backoff struct {
	// Initial is the first wait; 0 means 10 s (XDS_CLIENT_BACKOFF_INITIAL_INTERVAL).
	Initial time.Duration
	// Max is the longest wait; 0 means 60 s (XDS_CLIENT_BACKOFF_MAX_INTERVAL).
	Max time.Duration
	// Factor is the growth of each wait: with 0.5 it is half as long again as the
	// previous one, with 1 twice as long. 0 means 0.5
	// (XDS_CLIENT_BACKOFF_RANDOM_FACTOR).
	Factor float64
	// Jitter removes a random part of each wait, up to half of it, so that the clients of
	// a server do not retry at the same moment (XDS_CLIENT_BACKOFF_JITTER).
	Jitter bool
}

const (
	// connectTimeout bounds one attempt to connect, with name resolution and TLS handshake.
	connectTimeout = 20 * time.Second
	// keepaliveTime is the time without messages after which the server is pinged. Many servers
	// close connections with more frequent pings. keepaliveTimeout bounds the wait for the response.
	keepaliveTime    = 5 * time.Minute
	keepaliveTimeout = 20 * time.Second
)

// withDefaults returns a copy with every field set, and an error that names all invalid options.
func (o *Options) withDefaults() (Options, error) {
	r := *cmp.Or(o, &Options{})
	r.NodeID = cmp.Or(r.NodeID, "default")
	r.Log = cmp.Or(r.Log, slog.Default())
	r.Headers, r.DialOptions = slices.Clone(r.Headers), slices.Clone(r.DialOptions)
	var errs []error
	settings.Default(&errs, "Options.RetryInterval", &r.RetryInterval, 3*time.Second, math.MaxInt64)
	settings.Default(&errs, "Options.Backoff.Initial", &r.Backoff.Initial, 10*time.Second, math.MaxInt64)
	settings.Default(&errs, "Options.Backoff.Max", &r.Backoff.Max, time.Minute, math.MaxInt64)
	settings.Default(&errs, "Options.MaxMessageBytes", &r.MaxMessageBytes, 4<<20, math.MaxInt)
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	r.Backoff.Factor = cmp.Or(r.Backoff.Factor, 0.5)
	if f := r.Backoff.Factor; math.IsNaN(f) || f < 0 || math.IsInf(f, 1) {
		fault("Options.Backoff.Factor %v: must be a number above 0, or 0 for the default", f)
	}
	if !utf8.ValidString(r.NodeID) {
		fault("Options.NodeID %q: must be UTF-8", r.NodeID)
	}
	for name, value := range r.NodeMetadata {
		if !utf8.ValidString(name) || !utf8.ValidString(value) {
			fault("Options.NodeMetadata %q: name and value must be UTF-8", name)
		}
	}
	for i, h := range r.Headers {
		if err := settings.CheckHeader(h.Name, h.Value); err != nil {
			fault("Options.Headers[%d] %q: %w", i, h.Name, err)
		}
	}
	return r, errors.Join(errs...)
}

// Header is sent to the server when a stream is opened.
type Header struct {
	// Name consists of ASCII letters, digits, "-", "_" and "."; it is sent in lower
	// case. Names that belong to the transport are rejected.
	Name string
	// Value is printable ASCII, or any bytes if Name ends in "-bin".
	Value string
}

// String returns the name only, because values are often secrets.
func (h Header) String() string { return h.Name + ": ***" }

// LogValue returns String.
func (h Header) LogValue() slog.Value { return slog.StringValue(h.String()) }
