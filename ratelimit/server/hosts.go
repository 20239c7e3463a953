package server

import (
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/httpx"
)

// kubernetesNames returns the names of services and pods in a cluster: those below svc, and below svc.DOMAIN for each
// domain that resolv.conf searches. In a pod these are NAMESPACE.svc.DOMAIN, svc.DOMAIN, DOMAIN, and those of the node.
func kubernetesNames(resolvConf string) []string {
	names := []string{"*.svc"}
	text, _ := os.ReadFile(resolvConf) // without one there are no domains
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] != "search" {
			continue
		}
		for _, domain := range fields[1:] {
			if _, below, ok := strings.Cut("."+domain, ".svc."); ok {
				domain = below
			}
			if domain = strings.Trim(domain, "."); domain != "" && !strings.ContainsAny(domain, "*:/@,") {
				names = append(names, "*.svc."+domain)
			}
		}
	}
	return names
}

// protectHosts is middleware that refuses requests for other hosts. The paths anyHost are for all hosts, unless the
// request is that of a web page.
func protectHosts(hosts *httpx.Hosts, anyHost []string) httpx.Middleware {
	return func(next http.Handler) http.Handler {
		protected := hosts.Protect(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if slices.Contains(anyHost, r.URL.Path) && !fromPage(r.Header) {
				next.ServeHTTP(w, r)
				return
			}
			protected.ServeHTTP(w, r)
		})
	}
}

// fromPage reports whether a request has a header that browsers add to those of web pages.
func fromPage(headers http.Header) bool {
	for name := range headers {
		if name == "Origin" || name == "Referer" || strings.HasPrefix(name, "Sec-Fetch-") {
			return true
		}
	}
	return false
}
