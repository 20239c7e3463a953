package grammar

import (
	"bytes"
	_ "embed" // the options
	"encoding/json"
	"slices"
	"strings"
)

// IsDefaultRegistry reports whether the launchers of a registryType use the registry of a
// url anyway.
func IsDefaultRegistry(label, base string) bool {
	defaults := map[string]string{
		"npm":   "registry.npmjs.org registry.npmjs.com npmjs.org npmjs.com",
		"pypi":  "pypi.org pypi.org/simple pypi.python.org",
		"oci":   "docker.io index.docker.io registry-1.docker.io hub.docker.com",
		"nuget": "api.nuget.org api.nuget.org/v3 api.nuget.org/v3/index.json nuget.org",
		"cargo": "crates.io index.crates.io",
	}
	rest, https := strings.CutPrefix(strings.ToLower(base), "https://")
	return https && slices.Contains(strings.Fields(defaults[label]), strings.TrimPrefix(strings.TrimRight(rest, "/"), "www."))
}

// CompactSize returns the size of JSON without white space between its tokens.
func CompactSize(text string) int {
	var b bytes.Buffer
	if json.Compact(&b, []byte(text)) != nil {
		return len(text)
	}
	return b.Len()
}

// The options of docker run and, after them, those of podman run only, in the form of type syntax of package launch.
var (
	//go:embed docker.txt
	DockerOptions string
	//go:embed podman.txt
	PodmanOptions string
)

// IsContainerOption reports whether docker run or podman run has an option.
func IsContainerOption(name string) bool {
	for _, options := range [...]string{DockerOptions, PodmanOptions} {
		for w := range strings.FieldsSeq(options) {
			if strings.HasPrefix(w, name) && strings.Trim(w[len(name):], "=?!@*+#%$&|/^~") == "" {
				return true
			}
		}
	}
	return false
}
