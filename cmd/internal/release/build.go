package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// command runs a program at the root of the module and returns its output.
func (r *release) command(env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(r.ctx, name, args...) // #nosec G204 -- git, go and the packager with arguments of this program
	cmd.Env = append(os.Environ(), env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out.String()+errs.String())
	}
	return strings.TrimSpace(out.String()), nil
}

// trusted lets git describe a clone that belongs to another user.
var trusted = []string{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"}

// describe asks git for the version and the commit.
func (r *release) describe() (err error) {
	if r.version, err = r.command(trusted, "git", "describe", "--tags", "--always", "--dirty", "--match", "v*"); err != nil {
		return err
	}
	commit, err := r.command(trusted, "git", "log", "-1", "--format=%H %ct")
	if err != nil {
		return err
	}
	hash, seconds, _ := strings.Cut(commit, " ")
	r.commit = hash
	if !strings.HasPrefix(r.version, "v") { // no tag yet
		r.version = "v0.0.0-" + r.version
	}
	r.epoch, err = strconv.ParseInt(seconds, 10, 64)
	return err
}

// list finds the programs.
func (r *release) list(only string) error {
	files, err := filepath.Glob(filepath.Join("cmd", "*", "main.go"))
	if err != nil || len(files) == 0 {
		return errors.Join(err, errors.New("no programs in cmd: run this at the root of the module"))
	}
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		if only == "" || slices.Contains(strings.Split(only, ","), name) {
			r.programs = append(r.programs, name)
		}
	}
	return nil
}

// build builds the programs for a platform and writes their archive.
func (r *release) build(system, arch string) error {
	r.say("%s/%s: building %d programs", system, arch, len(r.programs))
	dir := filepath.Join(r.out, "build", system+"_"+arch)
	if err := os.MkdirAll(dir, 0o755); err != nil { // #nosec G301 -- of a release, which is public
		return err
	}
	args := []string{"build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w -buildid=", "-o", dir + string(filepath.Separator)}
	for _, name := range r.programs {
		args = append(args, "./"+path.Join("cmd", name))
	}
	env := append([]string{"CGO_ENABLED=0", "GOOS=" + system, "GOARCH=" + arch, "GOFLAGS="}, trusted...)
	if _, err := r.command(env, "go", args...); err != nil {
		return err
	}
	var files []archived
	for _, name := range r.programs {
		if system == "windows" {
			name += ".exe"
		}
		r.built = append(r.built, filepath.Join(dir, name))
		files = append(files, archived{name, filepath.Join(dir, name), 0o755})
	}
	files = append(files, archived{"LICENSE", "LICENSE", 0o644}, archived{"README.md", "README.md", 0o644}, archived{"CHANGELOG.md", "CHANGELOG.md", 0o644})
	if system == "linux" {
		units, _ := filepath.Glob(filepath.Join("cmd", "*", "deploy", "*.service")) // the pattern is valid
		for _, unit := range units {
			files = append(files, archived{"systemd/" + filepath.Base(unit), unit, 0o644})
		}
	}
	if system == "windows" {
		return r.zip(r.name(system, arch)+".zip", files)
	}
	return r.tar(r.name(system, arch)+".tar.gz", files)
}

// archived is a file of an archive.
type archived struct {
	name, path string
	mode       int64
}

// tar writes an archive with the time of the commit.
func (r *release) tar(name string, files []archived) error {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	w := tar.NewWriter(z)
	err = copyFiles(strings.TrimSuffix(name, ".tar.gz"), files, func(name string, mode, size int64) (io.Writer, error) {
		return w, w.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: size, ModTime: time.Unix(r.epoch, 0).UTC(), Format: tar.FormatPAX})
	})
	if err := errors.Join(err, w.Close(), z.Close()); err != nil {
		return err
	}
	return r.write(name, b.Bytes())
}

// zip writes an archive with the time of the commit.
func (r *release) zip(name string, files []archived) error {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	err := copyFiles(strings.TrimSuffix(name, ".zip"), files, func(name string, _, _ int64) (io.Writer, error) {
		return w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: time.Unix(r.epoch, 0).UTC()})
	})
	if err := errors.Join(err, w.Close()); err != nil {
		return err
	}
	return r.write(name, b.Bytes())
}

// copyFiles writes files to what begin returns for each.
func copyFiles(root string, files []archived, begin func(name string, mode, size int64) (io.Writer, error)) error {
	for _, f := range files {
		data, err := os.ReadFile(f.path) // #nosec G304 -- a file of the release
		if err != nil {
			return err
		}
		w, err := begin(root+"/"+f.name, f.mode, int64(len(data)))
		if err == nil {
			_, err = w.Write(data)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// write writes a file of the release.
func (r *release) write(name string, data []byte) error {
	r.say("  %s (%.1f MB)", name, float64(len(data))/1e6)
	return os.WriteFile(filepath.Join(r.out, name), data, 0o644) // #nosec G306 -- of a release, which is public
}

// packager makes deb and rpm packages. Later versions need modules that cannot be downloaded.
const packager = "github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.44.1"

// units writes the systemd units for programs in /usr/bin, and returns their directory.
func (r *release) units() (string, error) {
	dir := filepath.Join(r.out, "build", "units")
	if err := os.MkdirAll(dir, 0o755); err != nil { // #nosec G301 -- of a release, which is public
		return "", err
	}
	services, _ := filepath.Glob(filepath.Join("cmd", "*", "deploy", "*.service")) // the patterns are valid
	timers, _ := filepath.Glob(filepath.Join("cmd", "*", "deploy", "*.timer"))
	for _, file := range append(services, timers...) {
		text, err := os.ReadFile(file) // #nosec G304 -- a file of the release
		if err != nil {
			return "", err
		}
		text = bytes.ReplaceAll(text, []byte("/usr/local/bin/"), []byte("/usr/bin/"))
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(file)), text, 0o644); err != nil { // #nosec G306 G703 -- a unit of a release, which is public
			return "", err
		}
	}
	return dir, nil
}

// pack makes the Linux packages of an architecture from packaging/nfpm.yaml.
func (r *release) pack(arch string, kinds []string) error {
	units, err := r.units()
	if err != nil {
		return err
	}
	env := []string{
		"UNITS=" + units, "VERSION=" + r.version, "ARCH=" + arch, "BUILD=" + filepath.Join(r.out, "build", "linux_"+arch),
		"SOURCE_DATE_EPOCH=" + strconv.FormatInt(r.epoch, 10), "GOFLAGS=",
	}
	for _, kind := range kinds {
		target := filepath.Join(r.out, r.name("linux", arch)+"."+kind)
		if _, err := r.command(env, "go", "run", packager, "package", "--config", filepath.Join("packaging", "nfpm.yaml"), "--packager", kind, "--target", target); err != nil {
			return err
		}
		r.say("  %s", filepath.Base(target))
	}
	return nil
}
