// Command release builds what a release consists of, in a directory that is made anew:
//
//	go run ./cmd/internal/release -o dist -platforms linux/amd64,windows/arm64 -packages deb,rpm
//
// For each platform an archive with all programs, the licence, the readme and the systemd units; for
// Linux packages (deb, rpm); the modules of all programs as an SBOM (SPDX 2.3); and the SHA-256 of
// each file. Two builds of a commit are equal byte by byte: paths are trimmed, nothing has the time
// of the build, and archives have the time of the commit.
//
// The version is what git describes. It is in every program, which -version prints. Nothing but the
// module proxy is needed.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
)

// platforms are those of a release.
const platforms = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64"

func main() { cli.Main("release", run) }

func run(ctx context.Context, env cli.Env) error {
	c := &cobra.Command{
		Use: "go run ./cmd/internal/release [flags]", Args: cli.Args(0, 0, "no arguments"),
		Long: "release builds the archives, packages, SBOM and checksums of a release, the same for the same commit.",
		Example: `  go run ./cmd/internal/release
    	everything, in dist
  go run ./cmd/internal/release -o /tmp/x -platforms linux/amd64 -packages ''
    	one archive`,
	}
	out := c.Flags().StringP("o", "o", "dist", "the `directory` to make anew")
	targets := c.Flags().String("platforms", platforms, "comma-separated `platforms` to build for")
	kinds := c.Flags().String("packages", "deb,rpm", "comma-separated `kinds` of Linux packages; empty for none")
	programs := c.Flags().String("programs", "", "comma-separated `names` of programs (default: all)")
	c.RunE = func(c *cobra.Command, _ []string) error {
		r := &release{ctx: c.Context(), out: *out, log: env.Stderr}
		return r.make(strings.Split(*targets, ","), *kinds, *programs)
	}
	return env.Execute(ctx, c)
}

// make builds a release of programs, "" for all, for targets such as linux/amd64.
func (r *release) make(targets []string, kinds, programs string) error {
	if err := r.describe(); err != nil {
		return err
	}
	if err := r.list(programs); err != nil {
		return err
	}
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	for _, target := range targets {
		system, arch, found := strings.Cut(target, "/")
		if !found {
			return cli.Usagef("-platforms %q: write system/architecture, such as linux/amd64", target)
		}
		if err := r.build(system, arch); err != nil {
			return fmt.Errorf("%s: %w", target, err)
		}
		if system == "linux" && kinds != "" {
			if err := r.pack(arch, strings.Split(kinds, ",")); err != nil {
				return fmt.Errorf("%s: %w", target, err)
			}
		}
	}
	if err := r.writeSBOM(); err != nil {
		return err
	}
	if err := r.writeSums(); err != nil {
		return err
	}
	return os.RemoveAll(filepath.Join(r.out, "build"))
}

// release is one release.
type release struct {
	ctx      context.Context
	out      string
	log      io.Writer
	version  string // such as v0.1.0, or v0.1.0-3-gabcdef0
	commit   string
	epoch    int64 // the time of the commit
	programs []string
	built    []string // the paths of all programs, for the SBOM
}

// name returns the name of a file of the release.
func (r *release) name(parts ...string) string {
	return "ashlar_" + strings.TrimPrefix(strings.Join(append([]string{r.version}, parts...), "_"), "v")
}

func (r *release) say(format string, args ...any) { fmt.Fprintf(r.log, format+"\n", args...) }
