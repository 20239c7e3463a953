package launch

import (
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/internal/grammar"
	"github.com/ashlar-go/ashlar/internal/jsonpos"
)

// hideSecrets moves the secrets of -e NAME=secret to the environment of the launcher,
// because other users of the machine can read command lines. A variable that would affect
// the launcher stays. It returns the names of all variables that the options set.
func (c *commandBuilder) hideSecrets(options []element) map[string]bool {
	set := make(map[string]bool)
	hidden := make(map[string]Setting)
	for i := range options {
		e := &options[i]
		if e.effect != effectVariable {
			continue
		}
		name, value, assigned := strings.Cut(e.value.string, "=")
		set[name] = true
		if !e.value.secret || name == "" || !assigned || affectsEveryProgram(name) || !grammar.Only(name, "_") {
			continue
		}
		origin := e.items[0].Origin
		e.items = []Item{{Value: plainValue("-e"), Origin: origin}, {Value: plainValue(name), Origin: origin}}
		for _, flag := range e.names[:len(e.names)-1] { // -ie NAME=secret
			e.items = append([]Item{{Value: plainValue(flag), Origin: origin}}, e.items...)
		}
		hidden[name] = Setting{Name: name, Value: newValue(value, true), Origin: origin}
	}
	c.plan.Environment = slices.DeleteFunc(c.plan.Environment, func(s Setting) bool {
		_, again := hidden[s.Name]
		return again
	})
	for _, name := range slices.Sorted(maps.Keys(hidden)) {
		c.plan.Environment = append(c.plan.Environment, hidden[name])
	}
	return set
}

// passVariables passes the environment to a container by name, except for the variables
// that are set already. A variable that other programs read is passed by value instead, so
// that it does not reach the launcher. A secret one is only if it would affect that.
func (c *commandBuilder) passVariables(set map[string]bool) {
	var env []Setting
	for _, s := range c.plan.Environment {
		argument := plainValue(s.Name)
		if affectsEveryProgram(s.Name) || influence(s.Name) != "" && !s.Value.IsSecret() {
			argument = joined(s.Name, text{string: s.Value.Reveal(), secret: s.Value.IsSecret()})
		} else {
			env = append(env, s)
		}
		if !set[s.Name] {
			c.argv = append(c.argv, Item{Value: plainValue("-e"), Origin: s.Origin}, Item{Value: argument, Origin: s.Origin})
		}
	}
	c.plan.Environment = env
}

// publishPort publishes the port of the url to this machine only.
func (c *commandBuilder) publishPort(options []element) {
	link := c.plan.URL
	if link == nil || link.Value.IsSecret() || has(options, "--publish", "-p", "--publish-all", "-P", "--network", "--net") {
		return
	}
	u, err := url.Parse(link.Value.Reveal())
	if err != nil || u.Port() == "" || !isLocal(u.Hostname()) {
		return
	}
	published := "127.0.0.1:" + u.Port() + ":" + u.Port()
	c.argv = append(c.argv, Item{Value: plainValue("-p"), Origin: link.Origin}, Item{Value: plainValue(published), Origin: link.Origin})
}

// isLocal reports whether a host is this machine.
func isLocal(host string) bool {
	a, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && (a.IsLoopback() || a.IsUnspecified())
}

// separators refuses values in a template that would begin another field of it: -v {path}:/data
// and --mount src={path},dst=/data.
func (c *commandBuilder) separators(e *element, name string) {
	if e.effect == effectVariable || among(name, "-l --label --annotation --env-file --entrypoint") {
		return
	}
	for _, f := range e.value.filled {
		bad := separator(name, e.value.frame, f.value, e.effect == effectMount)
		if bad == "" {
			continue
		}
		pointer := variablePointer(e.pointer, f.name)
		fault := Fault{
			Kind: FaultManifest, Pointer: pointer, Suggestion: "use a value without it",
			Message: "the value of " + jsonpos.Quote(f.name) + " has " + bad + ", which separates the fields of " + name,
		}
		if p := c.prompts[pointer]; p != nil && f.given {
			fault.Kind, fault.Key = FaultValue, p.Key
		}
		c.fault(fault)
	}
}

// separator returns what in a value would begin another field of an option, or "". frame
// is the text around the value.
func separator(name, frame, value string, path bool) string {
	if path {
		_, value, _ = cutDrive(value)
	}
	switch {
	case name == "--mount" && strings.ContainsAny(value, ",\"\r\n"): // CSV
		return "a comma, a quote or a line break"
	case strings.Contains(frame, ":") && strings.Contains(value, ":"):
		return "a colon"
	case strings.Contains(frame, ",") && strings.Contains(value, ","):
		return "a comma"
	}
	return ""
}

// cutDrive cuts the drive off a Windows path: C:\ or C:/.
func cutDrive(path string) (drive, rest string, found bool) {
	if len(path) > 2 && grammar.IsLetter(path[0]) && path[1] == ':' && (path[2] == '\\' || path[2] == '/') {
		return path[:2], path[2:], true
	}
	return "", path, false
}

// mount reports a file or directory of this machine that the container gets.
func (c *commandBuilder) mount(e *element, name string) {
	source, readOnly := mountSource(e.value.string, name == "--mount")
	if source == "" {
		return
	}
	shown := "a path"
	if !e.value.secret {
		shown = jsonpos.Quote(source)
	}
	severity, what := SeverityWarning, "the container can change what is at %s of this machine"
	if readOnly {
		severity, what = SeverityInfo, "the container can read what is at %s of this machine"
	}
	if isSensitive(source) {
		severity = SeverityDanger
	}
	if source[0] == '~' {
		what += "; without a shell ~ is not the home directory"
	}
	c.notice(severity, e.pointer, what, shown)
}

// mountSource returns the path of this machine in the value of -v or --mount, or "".
func mountSource(value string, fields bool) (source string, readOnly bool) {
	if fields {
		for field := range strings.SplitSeq(value, ",") {
			switch key, v, assigned := strings.Cut(field, "="); strings.ToLower(key) {
			case "src", "source":
				source = v
			case "ro", "readonly":
				readOnly = !assigned || v == "true" || v == "1"
			}
		}
	} else {
		drive, rest, _ := cutDrive(value)
		before, after, found := strings.Cut(rest, ":")
		if !found {
			return "", false
		}
		source = drive + before
		_, options, _ := strings.Cut(strings.TrimPrefix(after, drive), ":")
		readOnly = slices.Contains(strings.Split(options, ","), "ro")
	}
	if _, _, drive := cutDrive(source); !drive && (source == "" || !strings.ContainsAny(source[:1], `/.~\{$%`)) {
		return "", false // a volume
	}
	return source, readOnly
}

// isSensitive reports whether a path gives access to more than the data of one program.
func isSensitive(path string) bool {
	_, rest, _ := cutDrive(path)
	rest = strings.ToLower(strings.ReplaceAll(rest, `\`, "/"))
	segments := slices.DeleteFunc(strings.Split(rest, "/"), func(s string) bool { return s == "" || s == "." })
	if len(segments) == 0 || strings.HasSuffix(rest, ".sock") || slices.Contains(segments, "..") {
		return true
	}
	const system = "etc root proc sys dev boot run bin sbin lib lib64 windows"
	const parents = "~ home users usr var opt srv mnt media private library system $home ${home}"
	first, alone := segments[0], len(segments) == 1
	if among(first, system) || alone && among(first, parents) || !alone && first == "var" && (segments[1] == "run" || segments[1] == "lib") {
		return true
	}
	return slices.ContainsFunc(segments, func(s string) bool {
		return among(s, ".ssh .aws .kube .docker .gnupg .azure .config .gcloud .npmrc .netrc")
	})
}
