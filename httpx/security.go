package httpx

import "net/http"

// SecurityOptions are the choices of [SecurityHeaders]. Nil means the defaults.
type SecurityOptions struct {
	// ContentSecurityPolicy for answers that set none. Default: that of an API, whose
	// answers load nothing and are framed by nobody.
	ContentSecurityPolicy string
	// OverTLS reports whether a request reached the client's side of the service
	// through TLS; then Strict-Transport-Security is sent. Default: whether this
	// connection is one. Behind a proxy that ends TLS, it is the proxy that knows.
	OverTLS func(*http.Request) bool
}

const (
	apiPolicy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	oneYear   = "max-age=31536000; includeSubDomains"
)

// SecurityHeaders is a layer that sets the headers that tell a browser to be careful,
// before the handler runs, so that it may change them:
//
//	Content-Security-Policy, X-Frame-Options      nothing is loaded, nobody frames
//	X-Content-Type-Options: nosniff               a type is what it says
//	Referrer-Policy: no-referrer                  addresses stay here
//	Permissions-Policy                            no camera, microphone, location
//	Cross-Origin-Opener/Resource-Policy           same-origin
//	X-Permitted-Cross-Domain-Policies: none
//	Cache-Control: no-store                       unless the handler knows better
//	Strict-Transport-Security                     over TLS only
//
// X-XSS-Protection is not sent: browsers no longer have what it controlled.
func SecurityHeaders(opts *SecurityOptions) Middleware {
	o := SecurityOptions{ContentSecurityPolicy: apiPolicy, OverTLS: func(r *http.Request) bool { return r.TLS != nil }}
	if opts != nil && opts.ContentSecurityPolicy != "" {
		o.ContentSecurityPolicy = opts.ContentSecurityPolicy
	}
	if opts != nil && opts.OverTLS != nil {
		o.OverTLS = opts.OverTLS
	}
	set := securityValues(o.ContentSecurityPolicy)
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h := w.Header()
			for i := range set {
				h[set[i].name] = set[i].value
			}
			if o.OverTLS(r) {
				h.Set("Strict-Transport-Security", oneYear)
			}
			next.ServeHTTP(w, r)
		})
	}
}

// securityHeader is one header. The value is shared by all answers; it has no room
// behind it, so that adding another value copies it.
type securityHeader struct {
	name  string // canonical
	value []string
}

func securityValues(policy string) []securityHeader {
	return []securityHeader{
		{"Cache-Control", []string{"no-store"}},
		{"Content-Security-Policy", []string{policy}},
		{"Cross-Origin-Opener-Policy", []string{"same-origin"}},
		{"Cross-Origin-Resource-Policy", []string{"same-origin"}},
		{"Permissions-Policy", []string{"camera=(), geolocation=(), microphone=()"}},
		{"Referrer-Policy", []string{"no-referrer"}},
		{"X-Content-Type-Options", []string{"nosniff"}},
		{"X-Frame-Options", []string{"DENY"}},
		{"X-Permitted-Cross-Domain-Policies", []string{"none"}},
	}
}
