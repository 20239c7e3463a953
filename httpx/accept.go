package httpx

import (
	"net/http"
	"strconv"
	"strings"
)

// wantsProblem reports whether the Accept header names application/problem+json, and
// does not like application/json better. A wildcard names nothing.
func wantsProblem(h http.Header) bool {
	accept := h["Accept"]
	problem, named := quality(accept, "application/problem+json")
	if !named || problem == 0 {
		return false
	}
	plain, _ := quality(accept, "application/json")
	return problem >= plain
}

// quality is the q-value that the lines of an Accept or Accept-Encoding header give a
// name, from 0 to 1000 (RFC 9110, 12.4.2), and whether they name it at all.
func quality(lines []string, name string) (q int, named bool) {
	for _, line := range lines {
		for line != "" {
			var element string
			element, line, _ = strings.Cut(line, ",")
			value, parameters, _ := strings.Cut(element, ";")
			if strings.EqualFold(strings.TrimSpace(value), name) {
				return qValue(parameters), true
			}
		}
	}
	return 0, false
}

// qValue reads the parameter q among others. One that can't be read is none: 1000.
func qValue(parameters string) int {
	for parameters != "" {
		var parameter string
		parameter, parameters, _ = strings.Cut(parameters, ";")
		key, value, _ := strings.Cut(strings.TrimSpace(parameter), "=")
		if !strings.EqualFold(key, "q") {
			continue
		}
		q, err := strconv.ParseFloat(value, 64)
		if err != nil || !(q >= 0 && q <= 1) { // NaN is neither less nor more
			break
		}
		return int(q * 1000)
	}
	return 1000
}

// vary adds a name to Vary, if it is not there.
func vary(h http.Header, name string) {
	for _, line := range h["Vary"] {
		if _, there := quality([]string{line}, name); there {
			return
		}
	}
	h.Add("Vary", name)
}
