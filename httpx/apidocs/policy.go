package apidocs

import (
	"fmt"
	"net/url"
	"regexp"
)

// policy is the Content-Security-Policy of the page. Swagger UI has its icons in data: URLs
// and sets styles through the object model, which needs no permission.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'%s; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

var plainHost = regexp.MustCompile(`^[A-Za-z0-9.-]+(:[0-9]+)?$`)

// policyFor lets the page load its document, wherever that is.
func policyFor(document string) (string, error) {
	u, err := url.Parse(document)
	if err != nil {
		return "", err
	}
	if u.Host == "" && u.Scheme == "" {
		return fmt.Sprintf(policy, ""), nil
	}
	if u.Scheme != "http" && u.Scheme != "https" || !plainHost.MatchString(u.Host) {
		return "", fmt.Errorf("%q must be a path, or an address such as https://api.example.org/openapi.json", document)
	}
	return fmt.Sprintf(policy, " "+u.Scheme+"://"+u.Host), nil
}
