package main

import (
	"context"
	"fmt"
	"strings"
)

// runCompletion prints a completion for bash: commands first, then files.
func runCompletion(_ context.Context, c *call) error {
	if err := c.parse(); err != nil {
		return err
	}
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
	}
	_, err := fmt.Fprintf(c.Stdout, `# To use it: source <(manifest completion)
_manifest() {
	if [ "$COMP_CWORD" -eq 1 ]; then
		COMPREPLY=($(compgen -W "%s help" -- "${COMP_WORDS[1]}"))
	fi
}
complete -o default -F _manifest manifest
`, strings.Join(names, " "))
	return err
}
