package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"strings"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/manifest"
	"github.com/ashlar-go/ashlar/manifest/fetch"
)

func runFetch(ctx context.Context, c *call) error {
	var opts fetch.Options
	out := c.flags.String("o", "", "write to `file`; by default the last part of the URL, in this directory")
	sum := c.flags.String("sha256", "", "the `hash` that the file at URL must have: 64 hexadecimal digits")
	pack := c.flags.Int("package", -1, "fetch the file of package `N` of a manifest, counted from 0; by default the only one that is a file")
	c.flags.Int64Var(&opts.MaxBytes, "max-bytes", 0, "refuse files of more than `n` bytes; by default 512 MiB")
	c.flags.BoolVar(&opts.AllowHTTP, "allow-http", false, "permit http")
	c.flags.BoolVar(&opts.AllowPrivate, "allow-private", false, "permit addresses of this machine and of private networks")
	if err := c.parse(); err != nil {
		return err
	}
	f, err := c.wanted(ctx, *sum, *pack)
	if err != nil {
		return err
	}
	if *out == "" {
		if *out, err = nameIn(f.URL); err != nil {
			return err
		}
		if _, err := os.Lstat(*out); err == nil {
			return cli.Usagef("%s is there already: name it with -o to replace it", *out)
		}
	}
	opts.Progress = c.progress()
	err = fetch.Download(ctx, f, *out, &opts)
	if opts.Progress != nil {
		fmt.Fprint(c.Stderr, "\r\x1b[K")
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.Stdout, "%s is there and has the SHA-256 %s\n", cli.Printable(*out), f.SHA256)
	return err
}

// wanted is the file that the arguments mean.
func (c *call) wanted(ctx context.Context, sum string, pack int) (manifest.File, error) {
	if len(c.files) == 1 && strings.Contains(c.files[0], "://") {
		if sum == "" {
			return manifest.File{}, cli.Usagef("-sha256 is missing: a file that nobody can check is not fetched")
		}
		return manifest.File{URL: c.files[0], SHA256: strings.ToLower(sum)}, nil
	}
	if sum != "" {
		return manifest.File{}, cli.Usagef("-sha256 goes with a URL: a manifest has its own")
	}
	s, err := c.one(ctx)
	if err != nil {
		return manifest.File{}, err
	}
	doc, _ := manifest.Parse(s.data, nil)
	if report := doc.Validate(nil); !report.Valid() {
		return manifest.File{}, errors.Join(writeText(c.Stderr, []checked{{*s, report}}, false), errSilent)
	}
	server, err := doc.Server()
	if err != nil {
		return manifest.File{}, err
	}
	return bundleOf(server, pack)
}

// bundleOf is the file of a package.
func bundleOf(s *manifest.Server, pack int) (manifest.File, error) {
	var found []manifest.File
	for i := range s.Packages {
		p := &s.Packages[i]
		if p.RegistryType == "mcpb" && (pack < 0 || pack == i) {
			found = append(found, manifest.File{URL: p.Identifier, SHA256: *p.FileSHA256})
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return manifest.File{}, cli.Usagef("%d packages are files: choose one with -package", len(found))
	case pack >= 0:
		return manifest.File{}, cli.Usagef("there is no package %d that is a file (registryType mcpb)", pack)
	}
	return manifest.File{}, cli.Usagef("no package of the manifest is a file (registryType mcpb)")
}

// nameIn is the last part of a URL, if it can be the name of a file.
func nameIn(text string) (string, error) {
	u, err := url.Parse(text)
	if err == nil {
		name := path.Base(u.Path)
		if name != "." && name != "/" && name[0] != '.' && name[0] != '-' && name == cli.Printable(name) && !strings.ContainsAny(name, `\/:`) {
			return name, nil
		}
	}
	return "", cli.Usagef("the URL does not end in the name of a file: give one with -o")
}

// progress writes to a terminal how far a download is; it is nil elsewhere.
func (c *call) progress() func(done, total int64) {
	f, ok := c.Stderr.(*os.File)
	if !ok {
		return nil
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return nil
	}
	last := int64(-1)
	return func(done, total int64) {
		if done>>20 == last && done != total {
			return // at most once a MiB
		}
		last = done >> 20
		if total < 0 {
			fmt.Fprintf(f, "\r%d MiB", last)
			return
		}
		fmt.Fprintf(f, "\r%d of %d MiB", last, total>>20)
	}
}
