package main

import (
	"context"
	"errors"
	"runtime/debug"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/manifest/lsp"
)

// runLSP talks to an editor over the standard input and output.
func runLSP(ctx context.Context, c *call) error {
	c.profile()
	if err := c.parse(); err != nil {
		return err
	}
	if len(c.files) > 0 {
		return cli.Usagef("lsp takes no files: an editor starts it and sends them")
	}
	opts := &lsp.Options{
		Profile: c.options.Profile,
		Format:  func(text []byte) ([]byte, error) { return formatted(text, &c.options) },
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		opts.Version = info.Main.Version
	}
	err := lsp.Serve(ctx, c.Stdin, c.Stdout, opts)
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
