package settings

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// checkShape looks at texts by the row's shape tag. The empty text has any shape:
// where something is needed, a combination says so.
func (r *row) checkShape(v reflect.Value) error {
	switch value := v.Interface().(type) {
	case string:
		if err := r.checkText(value); value != "" && err != nil {
			return fmt.Errorf("%s %w", quote(value), err)
		}
	case []string:
		for i, item := range value {
			if err := r.checkText(item); err != nil {
				return fmt.Errorf("%s %w", quoteItem(value, i), err)
			}
		}
	case []Pair:
		return r.checkPairs(value)
	}
	return nil
}

func (r *row) checkText(text string) error {
	switch r.tag.Get("shape") {
	case "host":
		return checkHost(text)
	case "address":
		return checkListen(text)
	case "node":
		return checkNode(text)
	case "target":
		return checkTarget(text)
	case "header":
		return checkHeader(text)
	case "path":
		return checkPath(text)
	case "socket":
		return checkSocket(text)
	case "srv":
		return checkSRV(text)
	}
	return nil
}

func (r *row) checkPairs(all []Pair) error {
	seen := map[string]bool{}
	for i, p := range all {
		err := error(nil)
		if r.tag.Get("shape") == "tag" {
			err = checkTag(p, seen)
		} else {
			err = checkMetadata(p)
		}
		if err != nil {
			return fmt.Errorf("item %d %w", i+1, err)
		}
	}
	return nil
}

func checkHost(text string) error {
	if strings.ContainsFunc(text, unicode.IsSpace) || strings.ContainsAny(text, "[]/@") {
		return errors.New("is no host: use a name or an IP address, without port and brackets")
	}
	if _, err := netip.ParseAddr(text); err != nil && strings.Contains(text, ":") {
		return errors.New("is no host: use a name or an IP address; the port is a setting of its own")
	}
	return nil
}

// checkListen takes host:port, where the host may be empty and the port 0.
func checkListen(text string) error {
	host, port, err := net.SplitHostPort(text)
	if err != nil || checkHost(host) != nil || !isPort(port, 0) {
		return errors.New("is no address to listen on: use host:port or :port, with a port from 0 to 65535")
	}
	return nil
}

// checkNode takes what can be connected to: host:port, or the path of a socket.
func checkNode(text string) error {
	if strings.HasPrefix(text, "/") {
		return checkSocket(text)
	}
	return checkHostPort(text)
}

func checkHostPort(text string) error {
	if _, _, isURL := strings.Cut(text, "://"); isURL {
		return errors.New("is a URL: use host:port; user, password and TLS have settings of their own")
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil || host == "" || checkHost(host) != nil || !isPort(port, 1) {
		return errors.New("is no address: use host:port, with a port from 1 to 65535")
	}
	return nil
}

func isPort(text string, lowest uint64) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n >= lowest
}

// checkTarget takes what gRPC connects to: host:port, or one of its schemes.
func checkTarget(text string) error {
	for _, scheme := range []string{"dns:", "unix:", "unix-abstract:", "passthrough:", "xds:", "ipv4:", "ipv6:"} {
		if strings.HasPrefix(text, scheme) {
			return nil
		}
	}
	return checkHostPort(text)
}

func checkHeader(text string) error {
	if !isToken(text) {
		return errors.New("is no header name: use letters, digits and hyphens")
	}
	return nil
}

// isToken is the grammar of header names (RFC 9110, 5.6.2).
func isToken(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(c rune) bool {
		return c <= ' ' || c >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c)
	})
}

func checkPath(text string) error {
	if !strings.HasPrefix(text, "/") || strings.ContainsFunc(text, unicode.IsSpace) || strings.ContainsAny(text, "{}?#") {
		return errors.New("is no path: use one that begins with /, such as /metrics")
	}
	return nil
}

// checkSocket refuses what the operating system would refuse with "invalid
// argument".
func checkSocket(text string) error {
	const longest = 107
	if len(text) > longest {
		return fmt.Errorf("is too long for the path of a socket: use at most %d bytes", longest)
	}
	return nil
}

func checkSRV(text string) error {
	if ok, _ := regexp.MatchString(`^_[^._\s]+\._[^._\s]+\.[^\s/:,]+$`, text); !ok {
		return errors.New("is no SRV record: use _service._proto.name, such as _memcache._tcp.example.com")
	}
	return nil
}

func checkTag(p Pair, seen map[string]bool) error {
	switch {
	case p.Value == "":
		return errors.New("has no value: use name:value, or leave it out")
	case strings.ContainsFunc(p.Name+p.Value, isBlankOrControl) || strings.ContainsAny(p.Name, "|=#,"):
		return errors.New("has a blank or a character that is not for tags: use letters, digits and . _ - /")
	case seen[p.Name]:
		return errors.New("has a name that is there already: use each once")
	}
	seen[p.Name] = true
	return nil
}

func isBlankOrControl(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) }

// checkMetadata takes headers that gRPC can send. It never shows them.
func checkMetadata(p Pair) error {
	if strings.ContainsFunc(p.Name, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("-_.", c)
	}) {
		return errors.New("has no header name: use letters, digits and . _ -")
	}
	if strings.HasPrefix(strings.ToLower(p.Name), "grpc-") {
		return errors.New("has a name that gRPC keeps for itself: use one that does not begin with grpc-")
	}
	if strings.ContainsFunc(p.Value, func(c rune) bool { return c < ' ' || c > '~' }) {
		return errors.New("has a value that is no header value: use printable ASCII characters")
	}
	return nil
}
