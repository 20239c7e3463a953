package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/ashlar-go/ashlar/httpx/ui"
	"github.com/ashlar-go/ashlar/internal/sqlitefile"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/demo"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/server"
	"github.com/ashlar-go/ashlar/inventory/sqlstore"
	"github.com/ashlar-go/ashlar/inventory/sqlstore/sqlite"
	"github.com/ashlar-go/ashlar/inventory/standard"
)

// network is the inventory in a file, with demo data.
type network struct {
	port     *port
	dir      string // where the file is
	lock     *dataLock
	devices  int // demo data for an empty one
	fresh    bool
	password string // of the admin
	links    []ui.NavLink
	store    *sqlstore.Store
	server   *server.Server
}

func newNetwork(flags *pflag.FlagSet) *network {
	n := &network{port: newPort(flags, "inventory-port", 3000, "the inventory")}
	flags.StringVar(&n.dir, "data", "ashlar-data", "`directory` of persistent data, created if missing")
	flags.IntVar(&n.devices, "devices", demoDevices, "number of demo `devices` for an empty inventory")
	flags.BoolVar(&n.fresh, "fresh", false, "delete persistent data first: the inventory, its password and the sample of limits")
	return n
}

// demoDevices is enough to page through and quick to write.
const demoDevices = 1000

// The files of the directory.
const (
	databaseFile = "inventory.db"
	passwordFile = "admin-password"
	lockFile     = "ashlar.lock"
)

// open opens the database, whose records are demo data at first.
func (n *network) open(ctx context.Context, names []string, log *slog.Logger) (err error) {
	s := server.Default()
	s.AdminPassword, s.RateLimit, s.AllowedHosts = n.password, 1000, names
	path, features := filepath.Join(n.dir, databaseFile), standard.Features()
	schema, err := inventory.NewSchema(feature.Parts(features...)...)
	if err != nil {
		return err
	}
	store, err := sqlite.Open(ctx, path, schema, &sqlite.Options{Log: log, Store: &sqlstore.Options{Timeout: s.DatabaseTimeout}})
	if err != nil {
		return fmt.Errorf("-data: %w", n.explain(err))
	}
	n.store = store
	if n.server, err = server.New(ctx, s, &server.Options{Log: log, Store: store, Features: features, ConsoleLinks: n.links}); err != nil {
		return n.explain(err)
	}
	if n.devices <= 0 {
		return nil
	}
	_, err = demo.Fill(ctx, store, &demo.Options{Devices: n.devices})
	if records.KindOf(err) == records.Conflict {
		return nil // filled by an earlier run
	}
	return n.explain(err)
}

// explain says what to do about a damaged database.
func (n *network) explain(err error) error {
	if cause := sqlitefile.Damage(err); cause != nil {
		return fmt.Errorf("the database %s is damaged: put a copy of it in its place, or use -fresh, which deletes it and starts with new data: %w",
			filepath.Join(n.dir, databaseFile), cause)
	}
	return err
}

// claim creates the directory and locks it for this process. It tells log what it has repaired.
func (n *network) claim(log io.Writer) (err error) {
	if err := os.MkdirAll(n.dir, 0o700); err != nil {
		return err
	}
	if err := n.protect(log); err != nil {
		return err
	}
	n.lock, err = lockData(n.dir)
	return err
}

// prepare deletes earlier data with -fresh, and sets the password.
func (n *network) prepare(log io.Writer) error {
	for _, name := range append(ownFiles(), lockFile) {
		if err := restrict(log, filepath.Join(n.dir, name), 0o600, false); err != nil {
			return err
		}
	}
	if err := restrict(log, filepath.Join(n.dir, limitsDir), 0o700, false); err != nil {
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

// ownFiles are the files that the program writes, besides the lock.
func ownFiles() []string {
	return []string{databaseFile, databaseFile + "-wal", databaseFile + "-shm", passwordFile, filepath.Join(limitsDir, sampleFile)}
}

// protect makes the directory accessible to its owner only, before a file is created in it.
func (n *network) protect(log io.Writer) error {
	entries, err := os.ReadDir(n.dir)
	if err != nil {
		return err
	}
	own := append(ownFiles(), lockFile, limitsDir)
	others := slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !slices.Contains(own, e.Name()) })
	return restrict(log, n.dir, 0o700, others)
}

// restrict removes the permissions of others from a file, if there is one. It refuses a directory that is shared
// with other files.
func restrict(log io.Writer, path string, mode fs.FileMode, shared bool) error {
	if runtime.GOOS == "windows" {
		return nil // it has no such modes
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
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

func (n *network) serve(ctx context.Context) error { return n.server.Serve(ctx, n.port.listener) }

// count returns the number of devices.
func (n *network) count(ctx context.Context) (int64, error) {
	store := n.server.Store()
	return records.Count(ctx, store, &records.Query{Resource: records.Of[inventory.Device](store.Schema())})
}

func (n *network) close() error {
	err := n.port.close()
	if n.server != nil {
		err = errors.Join(err, n.server.Close())
	}
	if n.store != nil {
		err = errors.Join(err, n.store.Close())
	}
	if n.lock != nil {
		err = errors.Join(err, n.lock.close())
	}
	return err
}
