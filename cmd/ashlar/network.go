package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/httpx/ui"
	"github.com/ashlar-go/ashlar/inventory/demo"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/server"
)

// network is the inventory in a file, with demo data.
type network struct {
	port     int
	dir      string // where the file is
	devices  int    // demo data for an empty one
	fresh    bool
	password string // of the admin
	links    []ui.NavLink
	server   *server.Server
	listener net.Listener
}

func newNetwork(flags *flag.FlagSet) *network {
	n := &network{}
	flags.IntVar(&n.port, "inventory-port", 3000, "`port` of the inventory; 0 picks a free one")
	flags.StringVar(&n.dir, "data", "ashlar-data", "`directory` of persistent data, created if missing")
	flags.IntVar(&n.devices, "devices", demoDevices, "number of demo `devices` for an empty inventory")
	flags.BoolVar(&n.fresh, "fresh", false, "delete persistent data first")
	return n
}

// demoDevices is enough to page through and quick to write.
const demoDevices = 1000

// The files of the directory.
const (
	databaseFile = "inventory.db"
	passwordFile = "admin-password"
)

func (n *network) open(ctx context.Context, p *ports, names []string, log *slog.Logger, warnings io.Writer) (err error) {
	if n.listener, err = p.listen(ctx, n.port, "inventory-port", "the inventory"); err != nil {
		return err
	}
	if err := n.prepare(warnings); err != nil {
		return fmt.Errorf("-data: %w", err)
	}
	s := server.Default()
	s.DatabaseURL, s.AdminPassword = filepath.Join(n.dir, databaseFile), n.password
	s.RateLimit, s.AllowedHosts = 1000, names
	if n.server, err = server.New(ctx, s, &server.Options{Log: log, ConsoleLinks: n.links}); err != nil {
		return err
	}
	if n.devices <= 0 {
		return nil
	}
	_, err = demo.Fill(ctx, n.server.Store(), &demo.Options{Devices: n.devices})
	if records.KindOf(err) == records.Conflict {
		return nil // filled by an earlier run
	}
	return err
}

// prepare creates the directory, with -fresh without earlier data, and sets the password. It tells
// log what it has repaired.
func (n *network) prepare(log io.Writer) error {
	if err := os.MkdirAll(n.dir, 0o700); err != nil {
		return err
	}
	if err := n.protect(log); err != nil {
		return err
	}
	if n.fresh {
		// Only our own files: the directory may contain others.
		for _, name := range ownFiles() {
			if err := os.Remove(filepath.Join(n.dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return n.readPassword()
}

func ownFiles() []string {
	return []string{databaseFile, databaseFile + "-wal", databaseFile + "-shm", passwordFile}
}

// protect makes the directory and the files in it accessible to their owner only.
func (n *network) protect(log io.Writer) error {
	if runtime.GOOS == "windows" {
		return nil // it has no such modes
	}
	entries, err := os.ReadDir(n.dir)
	if err != nil {
		return err
	}
	others := slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !slices.Contains(ownFiles(), e.Name()) })
	if err := restrict(log, n.dir, 0o700, others); err != nil {
		return err
	}
	for _, name := range ownFiles() {
		if err := restrict(log, filepath.Join(n.dir, name), 0o600, false); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// restrict removes the permissions of others from a file. It refuses a directory that is shared
// with other files.
func restrict(log io.Writer, path string, mode fs.FileMode, shared bool) error {
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() == mode {
		return err
	}
	loose := info.Mode().Perm() &^ mode
	if loose != 0 && shared {
		return fmt.Errorf("%s has mode %#o and files of others, and will contain passwords: use a directory of its own, or run chmod 700", path, info.Mode().Perm())
	}
	if err := os.Chmod(path, mode); err != nil {
		return fmt.Errorf("%s has mode %#o, which must be %#o: %w", path, info.Mode().Perm(), mode, err)
	}
	if loose != 0 {
		fmt.Fprintf(log, "ashlar: %s had mode %#o, so that others could read it: changed to %#o\n", path, info.Mode().Perm(), mode)
	}
	return nil
}

// readPassword reads the admin's password, or generates one for a new inventory.
func (n *network) readPassword() error {
	path, database := filepath.Join(n.dir, passwordFile), filepath.Join(n.dir, databaseFile)
	text, err := os.ReadFile(path) // #nosec G304 -- the user names the directory
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if n.password = strings.TrimSpace(string(text)); n.password != "" {
		return nil
	}
	if _, err := os.Stat(database); err == nil {
		return fmt.Errorf("%s exists, but the password of its admin is missing in %s: write it there, or start over with -fresh", database, path)
	}
	n.password = rand.Text()
	return writeSecret(path, n.password+"\n")
}

// writeSecret writes a file that only its owner can read, whatever the umask.
func writeSecret(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600) // #nosec G304 -- the user names the directory
	if err != nil {
		return err
	}
	err = f.Chmod(0o600) // a umask may have removed the owner's permissions
	if err == nil {
		_, err = f.WriteString(text)
	}
	return errors.Join(err, f.Close())
}

func (n *network) serve(ctx context.Context) error { return n.server.Serve(ctx, n.listener) }

// count returns the number of devices.
func (n *network) count(ctx context.Context) (int64, error) {
	devices, ok := n.server.Store().Schema().Named("devices")
	if !ok {
		return 0, nil
	}
	page, err := n.server.Store().List(ctx, &records.Query{Resource: devices, Limit: 1, Count: true})
	if err != nil {
		return 0, err
	}
	return page.Total, nil
}

func (n *network) close() error {
	err := closeListener(n.listener)
	if n.server != nil {
		err = errors.Join(err, n.server.Close())
	}
	return err
}
