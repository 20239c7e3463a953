package httpx

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/internal/printable"
)

// AnyHost is a name for [NewHosts] that allows every host.
const AnyHost = "*"

// HostsOptions configures [NewHosts]. Nil means the defaults.
type HostsOptions struct {
	// Names are further allowed hosts, without ports: names such as api.example.com,
	// *.example.com for all names below example.com, IP addresses, or AnyHost.
	Names []string
	// Setting is the setting that holds Names, for the message of a refusal. Default: none.
	Setting string
}

// Hosts is a list of the hosts that a service answers for. It protects services that rely on
// their network against DNS rebinding: a web page of a name that its owner points at the service's
// address has that name in the Host header.
type Hosts struct {
	setting  string
	any      bool
	names    []string // in lower case; *.example.com is .example.com
	addrs    []netip.Addr
	loopback bool // bound to an address that loopback reaches
	wildcard bool // bound to all addresses
}

// NewHosts returns the hosts of a service that listens on addr. Besides the given names, these are
// allowed:
//
//	loopback address   localhost, names below it, and loopback addresses
//	other address      this address, and the name of the machine
//	all addresses      all of these, all IP addresses, names without a dot, and names below
//	                   local, internal, svc and home.arpa, which have no public owners
//	Unix socket        all hosts
//
// Ports are not compared. Requests without a host, which no browser sends, are allowed. The error
// names an invalid name.
func NewHosts(addr net.Addr, opts *HostsOptions) (*Hosts, error) {
	o := *cmp.Or(opts, &HostsOptions{})
	h := &Hosts{setting: o.Setting}
	for _, name := range o.Names {
		if err := h.allow(name); err != nil {
			return nil, err
		}
	}
	bound := parseAddr(addr.String())
	switch {
	case strings.HasPrefix(addr.Network(), "unix"):
		h.any = true
	case bound.IsLoopback():
		h.loopback = true
	case bound.IsUnspecified() || !bound.IsValid():
		h.loopback, h.wildcard = true, true
		h.names = append(h.names, ".local", ".internal", ".svc", ".home.arpa")
	default:
		h.addrs = append(h.addrs, bound)
	}
	if h.loopback {
		h.names = append(h.names, "localhost", ".localhost")
	}
	if machine, err := os.Hostname(); err == nil && !bound.IsLoopback() {
		h.names = append(h.names, strings.ToLower(machine))
	}
	return h, nil
}

func (h *Hosts) allow(name string) error {
	if name == AnyHost {
		h.any = true
		return nil
	}
	if addr := hostAddr(name); addr.IsValid() {
		h.addrs = append(h.addrs, addr)
		return nil
	}
	host := strings.ToLower(strings.TrimPrefix(name, "*"))
	bare := strings.TrimPrefix(host, ".")
	if bare == "" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "*") && bare == host || strings.ContainsAny(bare, "*:/@ \t,") {
		return fmt.Errorf("host %q: write a name such as api.example.com or *.example.com, an IP address, or * for all hosts", name)
	}
	h.names = append(h.names, strings.TrimSuffix(host, "."))
	return nil
}

// Protect is middleware that responds with 421 (RFC 9110, section 15.5.20) to requests for other
// hosts.
func (h *Hosts) Protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h.Allowed(r.Host) {
			next.ServeHTTP(w, r)
			return
		}
		message := "This server does not serve the host " + printable.Truncate(r.Host, maxPrinted)
		if h.setting != "" {
			message += ": if it should, add the name to " + h.setting
		}
		WriteError(w, r, Errorf(http.StatusMisdirectedRequest, "%s", message))
	})
}

// Allowed reports whether a host, with or without a port, is in the list.
func (h *Hosts) Allowed(host string) bool {
	if h.any || host == "" {
		return true
	}
	if addr := hostAddr(host); addr.IsValid() {
		return h.wildcard || h.loopback && addr.IsLoopback() || slices.Contains(h.addrs, addr)
	}
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	return h.wildcard && host != "" && !strings.Contains(host, ".") || slices.ContainsFunc(h.names, func(name string) bool {
		return name == host || strings.HasPrefix(name, ".") && strings.HasSuffix(host, name)
	})
}

// hostAddr returns the address of a host with or without a port, or the zero Addr for a name.
func hostAddr(host string) netip.Addr {
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		host = host[1 : len(host)-1]
	}
	return parseAddr(host)
}
