package collect

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/gosnmp/gosnmp"
)

// Credentials are those of SNMPv2c, a community, or of SNMPv3 (RFC 3414), a user.
type Credentials struct {
	// Community selects SNMPv2c. At most 127 bytes.
	Community string

	// User selects SNMPv3. At most 32 bytes.
	User string
	// AuthProtocol is md5, sha, sha224, sha256, sha384 or sha512. Default: sha256.
	AuthProtocol string
	// AuthPassphrase has at least 8 bytes. Empty: requests and responses are not authenticated.
	AuthPassphrase string
	// PrivProtocol is des, aes, aes192, aes256, or with the key extension of Cisco aes192c, aes256c. Default: aes.
	PrivProtocol string
	// PrivPassphrase has at least 8 bytes, and needs an AuthPassphrase. Empty: nothing is encrypted.
	PrivPassphrase string
}

const (
	maxCommunity  = 127
	maxUser       = 32
	minPassphrase = 8
)

var authProtocols = map[string]gosnmp.SnmpV3AuthProtocol{
	"": gosnmp.SHA256, "md5": gosnmp.MD5, "sha": gosnmp.SHA, "sha1": gosnmp.SHA, "sha224": gosnmp.SHA224,
	"sha256": gosnmp.SHA256, "sha384": gosnmp.SHA384, "sha512": gosnmp.SHA512,
}

var privProtocols = map[string]gosnmp.SnmpV3PrivProtocol{
	"": gosnmp.AES, "des": gosnmp.DES, "aes": gosnmp.AES, "aes128": gosnmp.AES, "aes192": gosnmp.AES192,
	"aes256": gosnmp.AES256, "aes192c": gosnmp.AES192C, "aes256c": gosnmp.AES256C,
}

// protocolName returns a name of a protocol as the tables have it: SHA-256 is sha256.
func protocolName(name string) string { return strings.ToLower(strings.ReplaceAll(name, "-", "")) }

// validate reports what is missing or invalid, without secrets.
func (c *Credentials) validate() error {
	var errs []error
	bad := func(invalid bool, format string, args ...any) {
		if invalid {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	v3 := c.AuthProtocol + c.AuthPassphrase + c.PrivProtocol + c.PrivPassphrase
	bad(c.Community == "" && c.User == "", "credentials are missing: set SNMP_COMMUNITY or -community-file for SNMPv2c, or SNMP_USER with its pass phrases or -credentials-file for SNMPv3")
	bad(c.Community != "" && c.User != "", "a community and a user: use one of them, a community for SNMPv2c or a user for SNMPv3")
	bad(c.User == "" && v3 != "", "protocols or pass phrases without a user: set the user of SNMPv3")
	bad(len(c.Community) > maxCommunity, "the community has %d bytes: use at most %d", len(c.Community), maxCommunity)
	bad(len(c.User) > maxUser, "the user has %d bytes: use at most %d", len(c.User), maxUser)
	bad(c.PrivPassphrase != "" && c.AuthPassphrase == "", "a pass phrase for privacy without one for authentication: set both")
	bad(c.AuthPassphrase != "" && len(c.AuthPassphrase) < minPassphrase, "the pass phrase for authentication is shorter than %d bytes", minPassphrase)
	bad(c.PrivPassphrase != "" && len(c.PrivPassphrase) < minPassphrase, "the pass phrase for privacy is shorter than %d bytes", minPassphrase)
	_, auth := authProtocols[protocolName(c.AuthProtocol)]
	_, priv := privProtocols[protocolName(c.PrivProtocol)]
	bad(!auth, "unknown authentication protocol %q: use %s", c.AuthProtocol, known(authProtocols))
	bad(!priv, "unknown privacy protocol %q: use %s", c.PrivProtocol, known(privProtocols))
	bad(c.AuthProtocol != "" && c.AuthPassphrase == "", "an authentication protocol without a pass phrase: set both")
	bad(c.PrivProtocol != "" && c.PrivPassphrase == "", "a privacy protocol without a pass phrase: set both")
	return errors.Join(errs...)
}

// known lists the names of protocols.
func known[T any](protocols map[string]T) string {
	return strings.Join(slices.Sorted(maps.Keys(protocols))[1:], ", ")
}

// set sets the version and the credentials of a client.
func (c *Credentials) set(client *gosnmp.GoSNMP) {
	if c.User == "" {
		client.Version, client.Community = gosnmp.Version2c, c.Community
		return
	}
	usm := &gosnmp.UsmSecurityParameters{
		UserName: c.User, AuthenticationProtocol: gosnmp.NoAuth, PrivacyProtocol: gosnmp.NoPriv,
	}
	client.Version, client.SecurityModel, client.SecurityParameters = gosnmp.Version3, gosnmp.UserSecurityModel, usm
	client.MsgFlags = gosnmp.NoAuthNoPriv
	if c.AuthPassphrase != "" {
		client.MsgFlags = gosnmp.AuthNoPriv
		usm.AuthenticationProtocol, usm.AuthenticationPassphrase = authProtocols[protocolName(c.AuthProtocol)], c.AuthPassphrase
	}
	if c.PrivPassphrase != "" {
		client.MsgFlags = gosnmp.AuthPriv
		usm.PrivacyProtocol, usm.PrivacyPassphrase = privProtocols[protocolName(c.PrivProtocol)], c.PrivPassphrase
	}
}

// DefaultPort is the UDP port of SNMP agents.
const DefaultPort = 161

// ParseTarget reads host, host:port, an IPv6 address, or [address]:port.
func ParseTarget(target string) (host string, port uint16, err error) {
	host = target
	if _, err := netip.ParseAddr(target); err != nil && strings.Contains(target, ":") {
		var number string
		if host, number, err = net.SplitHostPort(target); err != nil {
			return "", 0, fmt.Errorf("target %q: use host, host:port or [address]:port", target)
		}
		n, err := strconv.ParseUint(number, 10, 16)
		if err != nil || n == 0 {
			return "", 0, fmt.Errorf("target %q: the port must be a number from 1 to 65535", target)
		}
		port = uint16(n)
	}
	if host == "" || len(host) > 253 || strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r > '~' || r == '/' }) {
		return "", 0, fmt.Errorf("target %q: use a host name or address, without blanks and slashes", target)
	}
	port = cmp.Or(port, DefaultPort)
	return host, port, nil
}
