package tracing

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// checkEnvironment rejects variables that the OpenTelemetry libraries would print to
// standard error with their secret values, ignore without sending spans, or fail on at
// run time. The error names all of them without their values. It returns the values of
// headers, which must not be logged.
func checkEnvironment(protocol string) (secrets []string, err error) {
	var errs []error
	reject := func(variable, format string, args ...any) {
		errs = append(errs, fmt.Errorf("tracing: %s: %s", variable, fmt.Sprintf(format, args...)))
	}
	for _, prefix := range []string{"OTEL_EXPORTER_OTLP_", "OTEL_EXPORTER_OTLP_TRACES_"} {
		if value := strings.TrimSpace(os.Getenv(prefix + "ENDPOINT")); value != "" {
			if problem := checkEndpoint(value, protocol); problem != "" {
				reject(prefix+"ENDPOINT", "%s", problem)
			}
		}
		if value := strings.TrimSpace(os.Getenv(prefix + "HEADERS")); value != "" {
			for i, pair := range strings.Split(value, ",") {
				secret, problem := checkHeader(pair)
				if problem != "" {
					reject(prefix+"HEADERS", "entry %d: %s", i+1, problem)
				}
				secrets = append(secrets, secret...)
			}
		}
	}
	for _, name := range []string{"SCHEDULE_DELAY", "EXPORT_TIMEOUT", "MAX_QUEUE_SIZE", "MAX_EXPORT_BATCH_SIZE"} {
		// With other numbers the batch processor panics, spins, or allocates too much.
		if value := os.Getenv("OTEL_BSP_" + name); value != "" {
			if n, err := strconv.Atoi(value); err != nil || n < 1 || n > maxBatchNumber {
				reject("OTEL_BSP_"+name, "%q: use a whole number from 1 to %d", shorten(value, 40), maxBatchNumber)
			}
		}
	}
	return secrets, errors.Join(errs...)
}

const maxBatchNumber = 3_600_000 // milliseconds in an hour

// checkEndpoint returns what is wrong with an endpoint: a URL, or a target over gRPC.
func checkEndpoint(value, protocol string) string {
	example := "use a URL such as http://collector:4318"
	if protocol == "grpc" {
		example = "use a URL such as http://collector:4317"
	}
	u, err := url.Parse(value)
	if err != nil {
		return "not a URL: " + example
	}
	web := strings.EqualFold(u.Scheme, "http") || strings.EqualFold(u.Scheme, "https")
	switch {
	case u.User != nil:
		return "has a user name or password: put credentials in OTEL_EXPORTER_OTLP_TRACES_HEADERS"
	case protocol == "http" && !web, web && u.Host == "", u.Host+u.Opaque+u.Path == "":
		return "has no host: " + example
	}
	return ""
}

// checkHeader returns the values to keep out of logs, and what is wrong with a pair
// "name=value", whose value is escaped as in a URL.
func checkHeader(pair string) (secrets []string, problem string) {
	name, escaped, found := strings.Cut(pair, "=")
	value, err := url.PathUnescape(escaped)
	for _, secret := range []string{value, escaped} {
		if secret = strings.TrimSpace(secret); len(secret) >= 4 { // masking shorter ones would garble the log
			secrets = append(secrets, secret)
		}
	}
	switch {
	case !found:
		return nil, `no "=": use name=value,name=value`
	case !httpguts.ValidHeaderFieldName(strings.TrimSpace(name)):
		return secrets, `the name before the "=" is empty or has characters that header names may not contain`
	case err != nil, !httpguts.ValidHeaderFieldValue(strings.TrimSpace(value)):
		return secrets, `the value must be escaped as in a URL ("%20" for a space), without control characters`
	}
	return secrets, ""
}
