package httpx

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// SingleParams is a layer that answers 400 to a query in which a parameter comes more
// than once, unless its name is given here, and to one that can't be read. Of two
// values, one would be ignored, by each program another.
func SingleParams(repeatable ...string) Middleware {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.RawQuery != "" {
				if err := single(r.URL.RawQuery, repeatable); err != nil {
					WriteError(w, r, err)
					return
				}
			}
			next.ServeHTTP(w, r)
		})
	}
}

// maxParams is how many parameters a query may have.
const maxParams = 1000

// single finds the first parameter that is there again.
func single(query string, repeatable []string) error {
	if strings.Count(query, "&") >= maxParams {
		return Errorf(http.StatusBadRequest, "Too many query parameters: at most %d are taken", maxParams)
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return Errorf(http.StatusBadRequest,
			"Malformed query string: write %%25 for %%, %%26 for & and %%3B for ; within a value")
	}
	if twice, ok := duplicate(query, values, repeatable); ok {
		return Errorf(http.StatusBadRequest, "Duplicate query parameter forbidden: %s", show(twice))
	}
	return nil
}

// duplicate finds the first name in the order of the query, so that the same query
// gets the same answer.
func duplicate(query string, values url.Values, repeatable []string) (string, bool) {
	for pair := range strings.SplitSeq(query, "&") {
		raw, _, _ := strings.Cut(pair, "=")
		name, _ := url.QueryUnescape(raw) // ParseQuery has read it
		if len(values[name]) > 1 && !slices.Contains(repeatable, name) {
			return name, true
		}
	}
	return "", false
}
