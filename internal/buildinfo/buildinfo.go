// Package buildinfo says what a program was built from, as the Go command has recorded it.
package buildinfo

import "runtime/debug"

// Read returns the version of the program's module, "unreleased" for none, its commit, with "+changes" if files were
// changed, and the version of Go. The commit is empty if it is unknown.
func Read() (version, revision, goVersion string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown", "", ""
	}
	version, goVersion = info.Main.Version, info.GoVersion
	if version == "" || version == "(devel)" {
		version = "unreleased"
	}
	changed := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = "+changes"
		}
	}
	return version, revision + changed, goVersion
}

// Labels returns what Read returns as the labels of a metric that describes the program.
func Labels() map[string]string {
	version, revision, goVersion := Read()
	return map[string]string{"version": version, "revision": revision, "goversion": goVersion}
}
