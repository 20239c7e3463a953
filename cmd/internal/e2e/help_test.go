//go:build unix

package e2e_test

import (
	"os/exec"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Every program says what it is for, with examples, has a version, and completes its flags in three
// shells.
func TestEveryProgramExplainsItself(t *testing.T) {
	t.Parallel()
	for _, dir := range programs() {
		name := path.Base(dir)
		if !strings.HasPrefix(dir, "./cmd/") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call := func(args ...string) string {
				out, err := exec.CommandContext(t.Context(), built(name), args...).Output()
				assert.NoError(t, err, "%s %s", name, strings.Join(args, " "))
				return string(out)
			}
			help := call("-h")
			_, examples, found := strings.Cut(help, "\nExamples:\n")
			assert.True(t, found, "no examples:\n%s", help)
			examples, _, _ = strings.Cut(examples, "\n\n")
			assert.GreaterOrEqual(t, len(regexp.MustCompile(`(?m)^  .*\b`+name+`\b`).FindAllString(examples, -1)), 2, "two examples:\n%s", examples)
			first, _, _ := strings.Cut(help, "\n")
			assert.True(t, len(first) > len(name)+20 && strings.HasSuffix(strings.TrimSpace(first), "."), "what it is for: %q", first)
			assert.Contains(t, help, "\nUsage:")
			assert.Contains(t, strings.ToLower(help), "exit code")

			assert.Regexp(t, `^`+name+` \S+ \(.*go1\.\d+`, call("--version"))
			for shell, word := range map[string]string{"bash": "complete", "zsh": "compdef", "fish": "complete -c " + name} {
				args := []string{"-completion", shell}
				if name == "manifest" || name == "inventoryctl" {
					args = []string{"completion", shell}
				}
				assert.Contains(t, call(args...), word)
			}
		})
	}
}
