package settings

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// checkCombinations finds settings that make no sense together. What is not in use
// may be incomplete.
func (r *reading) checkCombinations() {
	r.checkListeners()
	r.checkServerTLS()
	r.checkDiscovery()
	r.checkKVStores()
	r.checkMemStore()
}

// listener is an address that the service opens.
type listener struct {
	what, host, port string
	names            []string // its settings, the port's first
}

func (r *reading) listeners() []listener {
	s := r.settings
	all := []listener{
		{"the HTTP listener", s.Host, strconv.Itoa(s.Port), []string{"PORT", "HOST"}},
		{"the debug listener", s.DebugHost, strconv.Itoa(s.DebugPort), []string{"DEBUG_PORT", "DEBUG_HOST"}},
	}
	if s.GRPCUDS == "" {
		all = append(all, listener{"the gRPC listener", s.GRPCHost, strconv.Itoa(s.GRPCPort), []string{"GRPC_PORT", "GRPC_HOST"}})
	}
	if host, port, err := net.SplitHostPort(s.ScrapeAddr); s.UseScrape && err == nil {
		all = append(all, listener{"the scrape listener", host, port, []string{"SCRAPE_ADDR"}})
	}
	return all
}

func (r *reading) checkListeners() {
	all := r.listeners()
	for i, a := range all {
		for _, b := range all[:i] {
			if a.clashes(b) && !r.anyBad(slices.Concat(a.names, b.names)...) {
				r.refuseListener(a, b)
			}
		}
	}
}

// refuseListener complains about the one of the two that the environment has.
func (r *reading) refuseListener(a, b listener) {
	if !r.isSet(r.firstSet(a.names...)) {
		a, b = b, a
	}
	r.refuse(true, r.firstSet(a.names...), "%s is the address of "+b.what+" too, see $"+b.names[0]+": use another port, or 0 for a free one",
		net.JoinHostPort(a.host, a.port))
}

func (a listener) clashes(b listener) bool {
	return a.port == b.port && a.port != "0" && (a.host == b.host || a.covers(b) || b.covers(a))
}

// covers is whether a listens on all addresses, and on b's too.
func (a listener) covers(b listener) bool {
	ip, err := netip.ParseAddr(b.host)
	return a.host == "" || a.host == "::" || a.host == "0.0.0.0" && (err != nil || ip.Unmap().Is4())
}

func (r *reading) checkServerTLS() {
	s := r.settings
	const on = "GRPC_SERVER_USE_TLS"
	r.refuse(s.GRPCServerUseTLS && s.GRPCServerTLSCert == "", on, "needs a certificate: set $GRPC_SERVER_TLS_CERT to its file, or set this to false")
	r.refuse(s.GRPCServerUseTLS && s.GRPCServerTLSKey == "", on, "needs a private key: set $GRPC_SERVER_TLS_KEY to its file, or set this to false")
	const mutual = "works over TLS only: set $GRPC_SERVER_USE_TLS to true, or unset this"
	r.refuse(!s.GRPCServerUseTLS && s.GRPCClientTLSCACert != "", "GRPC_CLIENT_TLS_CACERT", mutual)
	r.refuse(!s.GRPCServerUseTLS && s.GRPCClientTLSSAN != "", "GRPC_CLIENT_TLS_SAN", mutual)
	r.refuse(s.GRPCServerUseTLS && s.GRPCClientTLSSAN != "" && s.GRPCClientTLSCACert == "", "GRPC_CLIENT_TLS_SAN",
		"is checked in certificates that nobody asks for: set $GRPC_CLIENT_TLS_CACERT, or unset this")
}

func (r *reading) checkDiscovery() {
	s := r.settings
	r.checkPair(s.XDSClientTLSCert, "CONFIG_GRPC_XDS_CLIENT_TLS_CERT", s.XDSClientTLSKey, "CONFIG_GRPC_XDS_CLIENT_TLS_KEY")
	r.checkGrowth(s.XDSBackoffMax < s.XDSBackoffInitial, "XDS_CLIENT_BACKOFF_MAX_INTERVAL", "XDS_CLIENT_BACKOFF_INITIAL_INTERVAL")
}

// checkPair refuses a certificate without its key, and the other way round.
func (r *reading) checkPair(cert, certName, key, keyName string) {
	r.refuse(cert != "" && key == "", certName, "needs a private key: set $"+keyName+" to its file, or unset this")
	r.refuse(key != "" && cert == "", keyName, "needs a certificate: set $"+certName+" to its file, or unset this")
}

func (r *reading) checkGrowth(wrong bool, highest, lowest string) {
	if r.isSet(highest) {
		r.refuse(wrong, highest, "is below $"+lowest+": raise it, or lower that")
	} else {
		r.refuse(wrong, lowest, "is above $"+highest+": lower it, or raise that")
	}
}

func (r *reading) checkMemStore() {
	s := r.settings
	r.refuse(len(s.MemStoreHostPort) > 0 && s.MemStoreSRV != "", "MEMSTORE_HOST_PORT", "names the nodes, and $MEMSTORE_SRV does too: unset one of them")
	r.refuse(s.Backend == MemStore && len(s.MemStoreHostPort) == 0 && s.MemStoreSRV == "", "BACKEND_TYPE",
		"is memstore, and no node is known: set $MEMSTORE_HOST_PORT, or $MEMSTORE_SRV")
	r.refuse(s.Backend == MemStore && strings.ContainsFunc(s.CacheKeyPrefix, isBlankOrControl), "CACHE_KEY_PREFIX",
		"has a blank or a control character, which no key of the memory-cache store may have, see $BACKEND_TYPE: leave it out")
	r.checkPair(s.MemStoreClientCert, "MEMSTORE_TLS_CLIENT_CERT", s.MemStoreClientKey, "MEMSTORE_TLS_CLIENT_KEY")
}
