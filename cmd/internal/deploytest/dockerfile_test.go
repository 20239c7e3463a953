package deploytest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// instruction is an instruction of a Dockerfile.
type instruction struct{ name, value string }

// parseDockerfile reads instructions of one line each.
func parseDockerfile(text string) (all []instruction) {
	for _, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			name, value, _ := strings.Cut(line, " ")
			all = append(all, instruction{name, strings.TrimSpace(value)})
		}
	}
	return all
}

// checkDockerfile reports faults of a Dockerfile.
func checkDockerfile(name, text string, s system) (faults []string) {
	c := &dockerfileCheck{system: s}
	for _, i := range parseDockerfile(text) {
		c.add(i)
	}
	c.end()
	for _, fault := range c.faults {
		faults = append(faults, name+": "+fault)
	}
	return faults
}

type dockerfileCheck struct {
	system
	faults []string
	stages []string // names
	seen   []instruction
	last   []instruction // of the last stage
	env    string        // values of ENV in all stages
}

func (c *dockerfileCheck) fault(format string, args ...any) {
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
}

func (c *dockerfileCheck) add(i instruction) {
	c.seen = append(c.seen, i)
	c.last = append(c.last, i)
	switch i.name {
	case "FROM":
		c.last = nil
		c.from(strings.Fields(i.value))
	case "COPY":
		c.copied(strings.Fields(i.value))
	case "ENV":
		c.env += " " + i.value
	case "EXPOSE":
		if ports := strings.Fields(i.value); !slices.Equal(slices.Sorted(slices.Values(ports)), slices.Sorted(slices.Values(c.ports))) {
			c.fault("EXPOSE %v: the default ports are %v", ports, c.ports)
		}
	case "RUN":
		if regexp.MustCompile(`curl|wget|apt-get|apk |go install|@latest|sudo`).MatchString(i.value) {
			c.fault("RUN %s: downloads an unpinned file", i.value)
		}
	case "WORKDIR", "USER", "ENTRYPOINT", "VOLUME":
	default:
		c.fault("%s: unexpected instruction", i.name)
	}
}

// from requires images with a version tag.
func (c *dockerfileCheck) from(words []string) {
	if len(words) == 0 || strings.HasPrefix(words[0], "-") {
		c.fault("FROM %v: use an image without a platform", words)
		return
	}
	image, tag, _ := strings.Cut(words[0], ":")
	if tag == "" || tag == "latest" || tag == "debug" {
		c.fault("FROM %s has no version tag", words[0])
	}
	if image == "golang" && !newEnough(tag) {
		c.fault("FROM %s: go.mod requires a newer version", words[0])
	}
	stage := ""
	if len(words) == 3 && words[1] == "AS" {
		stage = words[2]
	}
	c.stages = append(c.stages, stage)
}

// newEnough reports whether a Go image has at least the version in go.mod.
func newEnough(tag string) bool {
	text, err := os.ReadFile(filepath.Join(checkout, "go.mod"))
	if err != nil {
		return false
	}
	want := regexp.MustCompile(`(?m)^go 1\.(\d+)`).FindStringSubmatch(string(text))
	have := regexp.MustCompile(`^1\.(\d+)`).FindStringSubmatch(tag)
	if want == nil || have == nil {
		return false
	}
	w, _ := strconv.Atoi(want[1])
	h, _ := strconv.Atoi(have[1])
	return h >= w
}

// copied requires sources in the repository or in an earlier stage.
func (c *dockerfileCheck) copied(words []string) {
	inside := false
	for len(words) > 0 && strings.HasPrefix(words[0], "--") {
		if stage, ok := strings.CutPrefix(words[0], "--from="); ok {
			inside = true
			if !slices.Contains(c.stages, stage) {
				c.fault("COPY --from=%s: unknown stage", stage)
			}
		}
		words = words[1:]
	}
	if len(words) < 2 {
		c.fault("COPY %v: needs a source and a destination", words)
		return
	}
	for _, source := range words[:len(words)-1] {
		if !inside && !exists(source) {
			c.fault("COPY %s: not in the repository", source)
		}
	}
}

// end checks the complete file.
func (c *dockerfileCheck) end() {
	value := func(of []instruction, name string) (last string) {
		for _, i := range of {
			if i.name == name {
				last = i.value
			}
		}
		return last
	}
	user, _, _ := strings.Cut(value(c.last, "USER"), ":")
	if id, err := strconv.Atoi(user); err != nil || id == 0 {
		c.fault("USER %q: the last stage needs a numeric user other than root", user)
	}
	if want := `["/usr/local/bin/` + c.name + `"]`; value(c.last, "ENTRYPOINT") != want {
		c.fault("ENTRYPOINT must be %s", want)
	}
	if value(c.last, "RUN") != "" {
		c.fault("RUN in the last stage: its image has no shell")
	}
	if !strings.Contains(c.env, "CGO_ENABLED=0") {
		c.fault("CGO_ENABLED is not 0: a static image has no C library")
	}
	builds := ""
	for _, i := range c.seen {
		if i.name == "RUN" && strings.Contains(i.value, "go build") {
			builds = i.value
		}
	}
	if !strings.HasSuffix(builds, " ./"+c.dir()) || !exists(c.dir()+"/main.go") {
		c.fault("no RUN builds ./%s", c.dir())
	}
	if !strings.HasPrefix(builds, "GOPROXY=off ") {
		c.fault("the build may download modules: do that in a separate step before")
	}
}

func TestDockerfiles(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s system) {
		path := s.dir() + "/deploy/Dockerfile"
		text := read(t, path)
		report(t, checkDockerfile(path, text, s))
		require.Contains(t, text, "docker build -f "+path+" ", "the comment must contain the build command")
		if s.name == "ratelimitd" { // commands for the image of envoyproxy/ratelimit
			require.Contains(t, text, "ln -s /usr/local/bin/ratelimitd /out/bin/ratelimit\n")
			require.Contains(t, text, "COPY --from=build /out/bin/ /bin/\n")
		}
		for _, line := range parseDockerfile(text) {
			if line.name == "ENV" && !strings.Contains(line.value, "CGO_ENABLED") {
				warnings, err := s.parse(environment([]string{line.value}))
				require.NoError(t, err)
				require.Empty(t, warnings)
			}
		}
	})
}

// TestDockerignore checks that no file is ignored that the build needs.
func TestDockerignore(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s system) {
		for _, pattern := range strings.Fields(read(t, s.dir()+"/deploy/Dockerfile.dockerignore")) {
			require.NotRegexp(t, `\.go$|go\.(mod|sum)|\.sql|cmd|inventory|ratelimit`, pattern)
		}
	})
}
