package settings

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/ashlar-go/ashlar/internal/printable"
)

// CheckHost accepts a host name or an IP address.
func CheckHost(text string) error {
	if strings.ContainsFunc(text, unicode.IsSpace) || strings.ContainsAny(text, "[]/@,;|=?#") {
		return errors.New("is not a host: use a name or an IP address, without port and brackets")
	}
	if _, err := netip.ParseAddr(text); err != nil && strings.Contains(text, ":") {
		return errors.New("is not a host: use a name or an IP address; the port is a separate setting")
	}
	return nil
}

// CheckListen accepts an address to listen on: host:port, where the host may be empty and
// the port 0.
func CheckListen(text string) error {
	host, port, err := net.SplitHostPort(text)
	if err != nil || CheckHost(host) != nil || !isPort(port, 0) {
		return errors.New("is not an address to listen on: use host:port or :port, with a port from 0 to 65535")
	}
	return nil
}

// CheckHostPort accepts an address to connect to: host:port.
func CheckHostPort(text string) error {
	if _, _, isURL := strings.Cut(text, "://"); isURL {
		return errors.New("is a URL: use host:port; user, password and TLS are separate settings")
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil || host == "" || CheckHost(host) != nil || !isPort(port, 1) {
		return errors.New("is not an address: use host:port, with a port from 1 to 65535")
	}
	return nil
}

func isPort(text string, lowest uint64) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n >= lowest
}

// CheckHeader accepts what gRPC can send as metadata. Its errors never show the value.
func CheckHeader(name, value string) error {
	name = strings.ToLower(name)
	// gRPC sets these itself and drops them from other sources, or HTTP/2 forbids them.
	reserved := []string{
		"connection", "content-length", "content-type", "host", "keep-alive",
		"proxy-connection", "te", "transfer-encoding", "upgrade", "user-agent",
	}
	switch {
	case name == "":
		return errors.New("has an empty name")
	case strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != "":
		return errors.New("has an invalid header name: use letters, digits and . _ -")
	case slices.Contains(reserved, name) || strings.HasPrefix(name, "grpc-"):
		return errors.New("has a name that gRPC reserves: use another")
	case !strings.HasSuffix(name, "-bin") && strings.ContainsFunc(value, func(c rune) bool { return c < ' ' || c > '~' }):
		return errors.New("has an invalid header value: use printable ASCII characters, or a name that ends in -bin")
	}
	return nil
}

// CheckSocket refuses paths of unix sockets that the operating system would refuse with
// "invalid argument".
func CheckSocket(text string) error {
	const longest = 107
	if len(text) > longest {
		return fmt.Errorf("is too long for the path of a socket: use at most %d bytes", longest)
	}
	return nil
}

// Match returns a check that accepts what the pattern matches. Its error is the message.
func Match(pattern, message string) func(string) error {
	expression := regexp.MustCompile(pattern)
	return func(text string) error {
		if !expression.MatchString(text) {
			return errors.New(message)
		}
		return nil
	}
}

// masked replaces a secret.
const masked = "***"

// MaskURL replaces everything between the scheme and the last "@": a password may contain
// any character.
func MaskURL(text string) string {
	at := strings.LastIndex(text, "@")
	if at < 0 {
		return text
	}
	scheme, _, ok := strings.Cut(text[:at], "://")
	if !ok || strings.ContainsAny(scheme, ":@,/") {
		return masked + text[at:]
	}
	return scheme + "://" + masked + text[at:]
}

// Quote returns text for an error message: quoted, on one line, at most 80 bytes of it,
// masked by MaskURL.
func Quote(text string) string {
	const longest = 80
	text = MaskURL(text)
	if len(text) > longest {
		text = printable.Cut(text, longest) + "..."
	}
	return strconv.Quote(text)
}

// QuoteItem quotes an item of a list. It returns its position instead if the list contains
// an "@": a password may contain a comma, so every item may be a part of one.
func QuoteItem(items []string, i int) string {
	if strings.Contains(strings.Join(items, ","), "@") {
		return fmt.Sprintf("item %d", i+1)
	}
	return Quote(items[i])
}
