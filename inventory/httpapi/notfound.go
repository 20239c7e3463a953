package httpapi

import (
	"net/http"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/internal/suggest"
)

// maxMisspelled is the length in bytes of the longest path that is compared with those of the routes.
const maxMisspelled = 200

// notFound responds with 404 to a path without a route, and suggests a similar one that has a route.
func (a *API) notFound(w http.ResponseWriter, r *http.Request) {
	meant := a.similarPath(r.URL.Path)
	if meant == "" {
		httpx.NotFound(w, r)
		return
	}
	httpx.WriteError(w, r, httpx.Errorf(http.StatusNotFound, "No such path: %s: did you mean %s?", shorten(r.URL.Path), shorten(meant)))
}

// similarPath returns the path of a route that was probably meant by another path, or "". It replaces
// misspelled names segment by segment, and keeps ids.
func (a *API) similarPath(sent string) string {
	if len(sent) > maxMisspelled {
		return ""
	}
	segments := strings.Split(strings.Trim(sent, "/"), "/")
	routes := a.paths(len(segments))
	for i, segment := range segments {
		var names []string
		for _, path := range routes {
			if !isWildcard(path[i]) {
				names = append(names, path[i])
			}
		}
		id := len(names) < len(routes) && segment != ""
		if !id && !slices.Contains(names, segment) {
			segments[i] = suggest.Closest(segment, names, len(segment)/3)
			if segments[i] == "" {
				return ""
			}
		}
		routes = slices.DeleteFunc(routes, func(path []string) bool {
			return path[i] != segments[i] && (!id || !isWildcard(path[i]))
		})
	}
	return "/" + strings.Join(segments, "/")
}

// paths returns the segments of the paths that have so many, with those of the documentation.
func (a *API) paths(segments int) [][]string {
	var all [][]string
	add := func(path string) {
		if parts := strings.Split(path[1:], "/"); len(parts) == segments {
			all = append(all, parts)
		}
	}
	for i := range a.routes {
		add(a.routes[i].path)
	}
	if a.opts.Docs != nil {
		add("/docs")
	}
	return all
}

func isWildcard(segment string) bool { return strings.HasPrefix(segment, "{") }
