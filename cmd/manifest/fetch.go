package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/cmd/manifest/internal/fetch"
	"github.com/ashlar-go/ashlar/manifest"
)

func defineFetch(c *call) runner {
	var opts fetch.Options
	c.fromFlag()
	out := c.flags.StringP("o", "o", "", "write to `file` (default: the last segment of the URL, in this directory)")
	sum := c.flags.String("sha256", "", "the `hash` that the file at URL must have: 64 hexadecimal digits")
	pack := c.flags.Int("package", -1, "download the file of package `N` of a manifest, counted from 0, instead of the only one that is a file")
	c.flags.Int64Var(&opts.MaxBytes, "max-bytes", 0, "refuse files of more than `n` bytes (default 512 MiB)")
	c.flags.BoolVar(&opts.AllowHTTP, "allow-http", false, "permit http")
	c.flags.BoolVar(&opts.AllowPrivate, "allow-private", false, "permit addresses of this machine and of private networks")
	return func(ctx context.Context) error {
		f, err := c.fileToFetch(ctx, *sum, *pack)
		if err != nil {
			return err
		}
		if *out == "" {
			if *out, err = fileNameOf(f.URL); err != nil {
				return err
			}
			if _, err := os.Lstat(*out); err == nil {
				return cli.Usagef("%s already exists: name it with -o to replace it", *out)
			}
		}
		p := cli.NewProgress(c.Env, "fetch")
		opts.Progress = func(done, total int64) {
			p.Show(func(elapsed time.Duration) string { return cli.DoneBytes(done, total, elapsed) })
		}
		err = fetch.Download(ctx, f, *out, &opts)
		p.End()
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(c.Stdout, "%s is complete and has the SHA-256 %s\n", cli.Printable(*out), f.SHA256)
		return err
	}
}

// fileToFetch returns the file that the arguments name.
func (c *call) fileToFetch(ctx context.Context, sum string, pack int) (manifest.File, error) {
	if len(c.files) == 1 && strings.Contains(c.files[0], "://") {
		if sum == "" {
			return manifest.File{}, cli.Usagef("-sha256 is missing: a file that cannot be verified is not downloaded")
		}
		return manifest.File{URL: c.files[0], SHA256: strings.ToLower(sum)}, nil
	}
	if sum != "" {
		return manifest.File{}, cli.Usagef("-sha256 needs a URL: a manifest has its own")
	}
	s, err := c.one(ctx)
	if err != nil {
		return manifest.File{}, err
	}
	doc, _ := manifest.Parse(s.data, &c.options)
	reading := doc.Read(&c.options)
	var found []manifest.File
	var problems manifest.Problems // of files
	for i := range reading.Server.Packages {
		if p := &reading.Server.Packages[i]; p.RegistryType != manifest.MCPB || pack >= 0 && pack != i {
			continue
		}
		p, err := reading.Package(i)
		if errors.As(err, &problems) {
			continue
		}
		found = append(found, manifest.File{URL: p.Identifier, SHA256: *p.FileSHA256})
	}
	if len(reading.Server.Packages) == 0 && !reading.Report.Valid() {
		problems = reading.Report.Problems
	}
	if len(found) == 0 && len(problems) > 0 {
		report := &manifest.Report{Problems: problems, Errors: len(problems)}
		return manifest.File{}, errors.Join(c.writeText(c.Stderr, []checked{{*s, report}}, false), errReported)
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return manifest.File{}, cli.Usagef("%d packages are files: choose one with -package", len(found))
	case pack >= 0:
		return manifest.File{}, cli.Usagef("no package %d that is a file (registryType mcpb)", pack)
	}
	return manifest.File{}, cli.Usagef("no package of the manifest is a file (registryType mcpb)")
}

// fileNameOf returns the last segment of a URL if it can be the name of a file.
func fileNameOf(text string) (string, error) {
	u, err := url.Parse(text)
	if err == nil {
		name := path.Base(u.Path)
		if name != "." && name != "/" && name[0] != '.' && name[0] != '-' && name == cli.Printable(name) && !strings.ContainsAny(name, `\/:`) {
			return name, nil
		}
	}
	return "", cli.Usagef("the URL does not end in the name of a file: name one with -o")
}
