package server

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"

	"github.com/ashlar-go/ashlar/httpx"
)

// hostsKey is the key of the *httpx.Hosts in the contexts of requests that Serve serves. Requests
// to a handler that is mounted elsewhere have none.
type hostsKey struct{}

// hosts returns the hosts that the server answers for at an address: its own, and those of
// ALLOWED_HOSTS and ALLOWED_ORIGINS.
func (s *Server) hosts(addr net.Addr) (*httpx.Hosts, error) {
	names := slices.Clone(s.settings.AllowedHosts)
	for _, origin := range s.settings.AllowedOrigins {
		if u, err := url.Parse(origin); err == nil && u.Hostname() != "" {
			names = append(names, u.Hostname())
		}
	}
	hosts, err := httpx.NewHosts(addr, &httpx.HostsOptions{Names: names, Setting: "ALLOWED_HOSTS"})
	if err != nil {
		return nil, fmt.Errorf("ALLOWED_HOSTS: %w", err)
	}
	return hosts, nil
}

// protectHosts is middleware that refuses requests for other hosts.
func protectHosts(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hosts, ok := r.Context().Value(hostsKey{}).(*httpx.Hosts)
		if ok && !hosts.Allowed(r.Host) {
			hosts.Protect(next).ServeHTTP(w, r) // responds that it is refused
			return
		}
		next.ServeHTTP(w, r)
	})
}
