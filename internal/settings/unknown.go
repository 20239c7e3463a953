package settings

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/internal/suggest"
)

// Warning reports a variable that is valid, but probably does not do what was intended.
type Warning struct {
	Variable string // as the environment has it
	Text     string // what is wrong, on one line
}

// String returns "VARIABLE: text".
func (w Warning) String() string { return w.Variable + ": " + w.Text }

// Unknown returns warnings about variables that look like settings of the table and are
// not, sorted by name: those that begin with one of the prefixes, and those one edit away
// from a setting. Variables that ignore reports true for, and those that Kubernetes sets
// for services, are left out.
func (r *Reading) Unknown(prefixes []string, ignore func(name string) bool) []Warning {
	var known []string
	for i := range r.rows {
		known = append(known, r.rows[i].names()...)
	}
	var all []Warning
	for _, name := range slices.Sorted(maps.Keys(r.environ)) {
		if slices.Contains(known, name) || ignore(name) || isServiceLink(name, r.environ[name]) {
			continue
		}
		ours := slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
		const short = 8 // other software may well have a variable as short as this and one edit away
		edits := 0
		switch {
		case ours:
			edits = max(1, min(3, len(name)/5))
		case len(name) > short:
			edits = 1
		default:
			continue
		}
		if meant := suggest.Closest(name, known, edits); meant != "" {
			all = append(all, Warning{name, "unknown setting: did you mean " + meant + "?"})
		} else if ours {
			all = append(all, Warning{name, "unknown setting"})
		}
	}
	return all
}

// serviceVariables matches variables that Kubernetes sets in every pod for each service.
var serviceVariables = regexp.MustCompile(`_SERVICE_(HOST|PORT)(_\w+)?$|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$`)

func isServiceLink(name, value string) bool {
	return strings.HasSuffix(name, "_PORT") && isServiceURL(value) || serviceVariables.MatchString(name)
}

func isServiceURL(value string) bool {
	network, _, ok := strings.Cut(value, "://")
	return ok && (network == "tcp" || network == "udp" || network == "sctp")
}

// serviceLink explains a value that Kubernetes has set, for the end of an error.
func serviceLink(name, value string) string {
	service, ok := strings.CutSuffix(name, "_PORT")
	if !ok || !isServiceURL(value) {
		return ""
	}
	service = strings.ReplaceAll(strings.ToLower(service), "_", "-")
	return fmt.Sprintf("; Kubernetes sets %s to this for a service named %s: set enableServiceLinks: false in the pod, or set %[1]s yourself", name, service)
}
