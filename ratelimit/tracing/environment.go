package tracing

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// environment is what this package itself needs of the standard variables.
type environment struct {
	tls     *tls.Config // nil for the default
	timeout time.Duration
	secrets []string // values of headers
}

// defaultTimeout is the exporter's own.
const defaultTimeout = 10 * time.Second

// The namespaces of the exporter's variables. The second is read later and wins.
const (
	forAll    = "OTEL_EXPORTER_OTLP_"
	forTraces = "OTEL_EXPORTER_OTLP_TRACES_"
)

// readEnvironment checks the standard variables. The error names all that are
// malformed, and shows no values that may be secret: those of endpoints, headers and
// resource attributes.
func readEnvironment(protocol string) (*environment, error) {
	r := &reader{environment: environment{timeout: defaultTimeout}}
	for _, space := range []string{forAll, forTraces} {
		r.endpoint(space+"ENDPOINT", protocol)
		r.headers(space + "HEADERS")
		r.milliseconds(space + "TIMEOUT")
		r.oneOf(space+"INSECURE", strings.ToLower, "true", "false")
		r.oneOf(space+"COMPRESSION", asIs, "gzip", "none")
		r.oneOf(space+"PROTOCOL", asIs, "grpc", "http/protobuf", "http/json")
		r.authorities(space + "CERTIFICATE")
		r.keyPair(space+"CLIENT_CERTIFICATE", space+"CLIENT_KEY")
	}
	r.numbers()
	r.resource("OTEL_RESOURCE_ATTRIBUTES")
	return &r.environment, errors.Join(r.faults...)
}

// reader reads variables and collects what is wrong with them.
type reader struct {
	environment
	faults []error
}

func (r *reader) fault(variable, format string, args ...any) {
	r.faults = append(r.faults, fmt.Errorf("tracing: %s: %s", variable, fmt.Sprintf(format, args...)))
}

// lookup returns a variable's value. An empty one counts as not set.
func lookup(variable string) (value string, ok bool) {
	value = strings.TrimSpace(os.Getenv(variable))
	return value, value != ""
}

func asIs(s string) string { return s }

// oneOf checks a variable that has a few possible values.
func (r *reader) oneOf(variable string, fold func(string) string, values ...string) {
	if value, ok := lookup(variable); ok && !slices.Contains(values, fold(value)) {
		r.fault(variable, "%q: use %s", shorten(value, 40), strings.Join(values, " or "))
	}
}

// endpoint checks a URL, which over gRPC can be a target as well.
func (r *reader) endpoint(variable, protocol string) {
	value, ok := lookup(variable)
	if !ok {
		return
	}
	u, err := url.Parse(value)
	switch {
	case err != nil:
		r.fault(variable, "not a URL: use one such as http://collector:%s", port(protocol))
	case u.User != nil:
		r.fault(variable, "has a user name or password: put credentials in %sHEADERS", forTraces)
	case protocol == "http" && !web(u), web(u) && u.Host == "", u.Host+u.Opaque+u.Path == "":
		r.fault(variable, "names no host: use a URL such as http://collector:%s", port(protocol))
	}
}

// web reports whether the URL's scheme is one that is also for pages.
func web(u *url.URL) bool {
	scheme := strings.ToLower(u.Scheme)
	return scheme == "http" || scheme == "https"
}

// port is where OTLP is usually received.
func port(protocol string) string {
	if protocol == "grpc" {
		return "4317"
	}
	return "4318"
}

// headers checks name=value,name=value, with values as in URLs.
func (r *reader) headers(variable string) {
	value, ok := lookup(variable)
	if !ok {
		return
	}
	for i, pair := range strings.Split(value, ",") {
		name, escaped, found := strings.Cut(pair, "=")
		if !found {
			r.fault(variable, `entry %d has no "=": use name=value,name=value`, i+1)
			continue
		}
		if !token(strings.TrimSpace(name)) {
			r.fault(variable, "entry %d: the name before the \"=\" is empty or has characters that no header's name has", i+1)
		}
		text, err := url.PathUnescape(escaped)
		if err != nil || strings.ContainsFunc(strings.TrimSpace(text), control) {
			r.fault(variable, `entry %d: the value must be escaped as in a URL ("%%20" for a space) and have no control characters`, i+1)
		}
		r.secret(text, escaped)
	}
}

// secret has values kept out of the log. Very short ones would only garble it.
func (r *reader) secret(values ...string) {
	for _, value := range values {
		if value = strings.TrimSpace(value); len(value) >= 4 {
			r.secrets = append(r.secrets, value)
		}
	}
}

func control(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }

// token reports whether s is one by RFC 9110, section 5.6.2.
func token(s string) bool {
	other := func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", c)
	}
	return s != "" && !strings.ContainsFunc(s, other)
}

// maxMilliseconds bounds waits, and keeps them from overflowing.
const maxMilliseconds = int(time.Hour / time.Millisecond)

func (r *reader) milliseconds(variable string) {
	value, ok := lookup(variable)
	if !ok {
		return
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > maxMilliseconds {
		r.fault(variable, "%q: must be a whole number of milliseconds from 1 to %d", shorten(value, 40), maxMilliseconds)
		return
	}
	r.timeout = time.Duration(n) * time.Millisecond
}

// authorities reads the certificates that the receiver's must be signed by.
func (r *reader) authorities(variable string) {
	file, ok := lookup(variable)
	if !ok {
		return
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		r.fault(variable, "%v", err)
		return
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		r.fault(variable, "%s holds no certificate in PEM form", file)
		return
	}
	r.config().RootCAs = pool
}

// keyPair reads the certificate that is shown to the receiver.
func (r *reader) keyPair(certificate, key string) {
	certFile, haveCert := lookup(certificate)
	keyFile, haveKey := lookup(key)
	switch {
	case !haveCert && !haveKey:
		return
	case !haveCert:
		r.fault(key, "is set and %s is not: set both or none", certificate)
		return
	case !haveKey:
		r.fault(certificate, "is set and %s is not: set both or none", key)
		return
	}
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		r.fault(certificate, "with %s: %v", key, err)
		return
	}
	r.config().Certificates = []tls.Certificate{pair}
}

func (r *reader) config() *tls.Config {
	if r.tls == nil {
		r.tls = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return r.tls
}

// numbers checks what the library reads for batches and spans. Out of these bounds
// it panics, spins or lets memory grow without end.
func (r *reader) numbers() {
	const many = 1_000_000
	for _, number := range []struct {
		name        string
		least, most int
	}{
		{"OTEL_BSP_SCHEDULE_DELAY", 1, maxMilliseconds},
		{"OTEL_BSP_EXPORT_TIMEOUT", 1, maxMilliseconds},
		{"OTEL_BSP_MAX_QUEUE_SIZE", 1, many},
		{"OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 1, many},
		{"OTEL_ATTRIBUTE_COUNT_LIMIT", -1, many},
		{"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", -1, many},
		{"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", -1, many},
		{"OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", -1, many},
		{"OTEL_SPAN_EVENT_COUNT_LIMIT", -1, many},
		{"OTEL_SPAN_LINK_COUNT_LIMIT", -1, many},
		{"OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT", -1, many},
		{"OTEL_LINK_ATTRIBUTE_COUNT_LIMIT", -1, many},
	} {
		value := os.Getenv(number.name) // the library doesn't trim here
		if value == "" {
			continue
		}
		if n, err := strconv.Atoi(value); err != nil || n < number.least || n > number.most {
			r.fault(number.name, "%q: must be a whole number from %d to %d", shorten(value, 40), number.least, number.most)
		}
	}
}

// resource checks name=value,name=value, with values as in URLs.
func (r *reader) resource(variable string) {
	value, ok := lookup(variable)
	if !ok {
		return
	}
	for i, pair := range strings.Split(value, ",") {
		name, escaped, found := strings.Cut(pair, "=")
		text, err := url.PathUnescape(strings.TrimSpace(escaped))
		if !found || err != nil || !utf8.ValidString(name+text) {
			r.fault(variable, `entry %d: use name=value,name=value, with values escaped as in a URL ("%%2C" for a comma)`, i+1)
		}
	}
}
