package replay

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/internal/suggest"
)

// Format is the format of an access log.
type Format string

// The formats. The empty Format is Auto.
const (
	// Auto detects the format from the first line.
	Auto Format = "auto"
	// JSON has one object on each line.
	JSON Format = "json"
	// Envoy is JSON with the field names of Envoy's access log.
	Envoy Format = "envoy"
	// Combined is the combined or common log format of web servers.
	Combined Format = "combined"
	// VHostCombined is the combined log format with the host in front.
	VHostCombined Format = "vhost_combined"
	// EnvoyText is the text that Envoy writes if no format is configured.
	EnvoyText Format = "envoy_text"
	// Istio is the text that the proxies of Istio write if no format is configured.
	Istio Format = "istio"
	// ALB is the format of application load balancers of AWS.
	ALB Format = "alb"
	// ELB is the format of classic load balancers of AWS.
	ELB Format = "elb"
)

// FormatNames lists the formats, for error messages.
const FormatNames = "auto, json, envoy, combined, vhost_combined, envoy_text, istio, alb or elb"

// Valid reports whether f is empty or one of the constants.
func (f Format) Valid() bool {
	return slices.Contains([]Format{"", Auto, JSON, Envoy}, f) || f.names() != nil
}

// known are the fields that have a name of their own whatever the format, and the names that logs give them. A dot
// leads into an object. Each stands for its other spellings too: request_uri for request-uri, requestUri and RequestUri.
func known() map[string][]string {
	target := []string{
		"target", "path", "uri", "request_uri", "url", "x_envoy_original_path", "x_envoy_origin_path", "request_path", "request_target", ":path",
		"request.uri", "request.path", "http.target", "http.url", "url.original", "url.path", "httpRequest.requestUrl", "properties.requestUri", "resource_path", "request",
	}
	return map[string][]string{
		"time": {
			"time", "start_time", "timestamp", "@timestamp", "ts", "datetime", "date", "time_iso8601", "time_local", "StartUTC", "started_at", "requestTime",
		},
		"remote_address": {
			"remote_address", "downstream_remote_address", "remote_addr", "remote_ip", "client_ip", "clientip", "source_ip", "ip", "ClientHost", "remote_host",
			"request.client_ip", "request.remote_ip", "http.client_ip", "client.ip", "client.address", "source.ip", "source.address", "client_address",
			"httpRequest.remoteIp", "properties.clientIP", "downstream_direct_remote_address", "x_forwarded_for",
		},
		"method": {
			"method", "request_method", "verb", ":method", "request.method", "http_method", "http.method", "http.request.method", "httpRequest.requestMethod",
			"properties.httpMethod", "request",
		},
		"target":   target,
		"path":     target,
		"protocol": {"protocol", "server_protocol", "request_protocol", "request.proto", "httpRequest.protocol", "request"},
		"host": {
			"host", "authority", ":authority", "http_host", "request_host", "vhost", "server_name", "domain_name", "request.host", "url.domain", "server.address",
		},
		"status": {
			"status", "response_code", "status_code", "response_status", "DownstreamStatus", "response.status", "http.status_code", "http.response.status_code",
			"httpRequest.status", "properties.httpStatus",
		},
		"bytes":      {"bytes", "bytes_sent", "body_bytes_sent", "size", "response_size", "DownstreamContentSize", "response.size", "http.response.body.bytes"},
		"user":       {"user", "remote_user", "username", "user_id", "ClientUsername", "user.name"},
		"user_agent": {"user_agent", "http_user_agent", "user_agent.original", "http.user_agent", "request_User-Agent", "httpRequest.userAgent"},
		"referer":    {"referer", "http_referer", "referrer", "http.request.referrer", "request_Referer"},
	}
}

// sourcesOf returns the names that a field may have in a line, its own first.
func sourcesOf(name string) (all []string) {
	sources := known()[name]
	if sources == nil {
		return []string{name}
	}
	for _, source := range sources {
		all = append(all, source)
		if words := strings.Split(source, "_"); len(words) > 1 && source == strings.ToLower(source) {
			pascal := ""
			for _, word := range words {
				pascal += strings.ToUpper(word[:1]) + word[1:]
			}
			all = append(all, strings.ReplaceAll(source, "_", "-"), strings.ToLower(pascal[:1])+pascal[1:], pascal)
		}
	}
	return all
}

// cleanAddress returns the first address of a list, without port and brackets.
func cleanAddress(text string) string {
	if comma := strings.IndexByte(text, ','); comma >= 0 {
		text = strings.TrimSpace(text[:comma])
	}
	if strings.HasPrefix(text, "[") {
		if end := strings.IndexByte(text, ']'); end > 0 {
			return text[1:end]
		}
	}
	if colon := strings.IndexByte(text, ':'); colon >= 0 && strings.IndexByte(text[colon+1:], ':') < 0 {
		return text[:colon]
	}
	return text
}

// cleanPath removes the query, and scheme and host of an absolute target.
func cleanPath(text string) string {
	if at := strings.IndexAny(text, "?#"); at >= 0 {
		text = text[:at]
	}
	if !strings.HasPrefix(text, "/") {
		if at := strings.Index(text, "://"); at >= 0 {
			text = text[at+3:]
			slash := strings.IndexByte(text, '/')
			if slash < 0 {
				return "/"
			}
			text = text[slash:]
		}
	}
	return text
}

// fields are the names of the fields that a mapping uses, by their numbers.
type fields []string

// slot returns the number of a field.
func (f *fields) slot(name string) int {
	if i := slices.Index(*f, name); i >= 0 {
		return i
	}
	*f = append(*f, name)
	return len(*f) - 1
}

// lineReader sets the values of a line, which are empty before.
type lineReader interface {
	read(line []byte, values []string) error
}

// newLineReader returns a reader of the fields.
func newLineReader(format Format, names fields) lineReader {
	for _, t := range textFormats {
		if t.name == format {
			return newTextLine(t, names)
		}
	}
	p := &jsonLine{}
	for _, name := range names {
		sources := sourcesOf(name)
		if format == Envoy && known()[name] != nil {
			sources = envoyFirst(sources)
		}
		p.sources = append(p.sources, sources)
	}
	return p
}

// envoyFirst moves the names of Envoy's access log to the front.
func envoyFirst(sources []string) []string {
	isEnvoy := func(name string) bool {
		return slices.Contains([]string{"start_time", "downstream_remote_address", "path", "authority", "response_code", "bytes_sent"}, name)
	}
	first := slices.DeleteFunc(slices.Clone(sources), func(name string) bool { return !isEnvoy(name) })
	return append(first, slices.DeleteFunc(slices.Clone(sources), isEnvoy)...)
}

// check returns an error for a field that the format does not have.
func (f Format) check(field string) error {
	has := f.names()
	for name := range known() {
		if slices.ContainsFunc(sourcesOf(name), func(source string) bool { return slices.Contains(has, source) }) {
			has = append(has, name)
		}
	}
	if has == nil || slices.Contains(has, field) {
		return nil
	}
	slices.Sort(has)
	hint := ""
	if meant := suggest.Closest(field, has, 2); meant != "" {
		hint = fmt.Sprintf(": did you mean %q?", meant)
	}
	return fmt.Errorf("the format %s has no field %q%s; it has %s", f, field, hint, strings.Join(slices.Compact(has), ", "))
}

const (
	// detectBytes is the length of the start of a log that the format is detected from.
	detectBytes = 256 << 10
	// detectLines is the number of lines of which one must have a known format.
	detectLines = 20
)

// detectFirst returns the format of the first line that has a known one.
func detectFirst(text []byte) (f Format, err error) {
	n := 0
	for line := range bytes.Lines(text) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if f, err = detect(line); err == nil {
			return f, nil
		}
		if n++; n == detectLines {
			break
		}
	}
	return "", cmp.Or(err, ErrEmpty)
}

func detect(line []byte) (Format, error) {
	if bytes.HasPrefix(bytes.TrimSpace(line), []byte("{")) {
		names := fields{"start_time", "response_flags", "response_code", "upstream_cluster", "downstream_remote_address"}
		values := make([]string, len(names))
		if newLineReader(JSON, names).read(line, values) == nil && values[0] != "" && strings.Join(values[1:], "") != "" {
			return Envoy, nil
		}
		return JSON, nil
	}
	for _, t := range textFormats {
		if newTextLine(t, nil).read(line, nil) == nil {
			return t.name, nil
		}
	}
	return "", errors.New("unknown format: use JSON with one object a line, or a format of " + FormatNames)
}
