package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/manifest/launch"
)

// readEnvFile adds the values of the file that -env-file names. What -set gives comes
// first; names that are no inputs belong to something else.
func (q *question) readEnvFile(form *launch.Form) error {
	if q.envFile == "" {
		return nil
	}
	data, err := os.ReadFile(q.envFile)
	if err != nil {
		return unreadable(err)
	}
	values, err := parseEnv(string(data))
	if err != nil {
		return cli.Usagef("%s: %w", q.envFile, err)
	}
	for i := range form.Prompts {
		p := &form.Prompts[i]
		value, there := values[p.Key]
		if _, set := q.given[p.Key]; there && !set {
			q.given[p.Key] = []string{value}
		}
	}
	return nil
}

// parseEnv reads lines NAME=value. A value may be in single quotes, where it is taken
// as it is, or in double quotes, where \n, \" and \\ are read. Lines that begin with #
// are comments. Errors don't show the line, which may hold a secret.
func parseEnv(text string) (map[string]string, error) {
	values := make(map[string]string)
	for i, line := range strings.Split(strings.TrimPrefix(text, "\ufeff"), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, found := strings.Cut(strings.TrimPrefix(line, "export "), "=")
		name = strings.TrimSpace(name)
		if !found || name == "" {
			return nil, fmt.Errorf("line %d is not NAME=value", i+1)
		}
		value, ok := unquote(strings.TrimSpace(value))
		if !ok {
			return nil, fmt.Errorf("line %d has a quote that is not closed", i+1)
		}
		values[name] = value
	}
	return values, nil
}

func unquote(s string) (string, bool) {
	if s == "" || s[0] != '"' && s[0] != '\'' {
		return s, true
	}
	if len(s) < 2 || s[len(s)-1] != s[0] {
		return "", false
	}
	inner := s[1 : len(s)-1]
	if s[0] == '"' {
		inner = strings.NewReplacer(`\n`, "\n", `\"`, `"`, `\\`, `\`).Replace(inner)
	}
	return inner, true
}
