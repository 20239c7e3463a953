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
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/demo"
	"github.com/ashlar-go/ashlar/inventory/server"
)

// network is the inventory in a file, with demo data.
type network struct {
	port     int
	dir      string // where the file is
	devices  int    // demo data for an empty one
	fresh    bool
	password string // of the admin
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

func (n *network) open(ctx context.Context, host string, log io.Writer) (err error) {
	n.listener, err = new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(n.port)))
	if err != nil {
		return portTaken(err, "-inventory-port")
	}
	if err := n.prepare(); err != nil {
		return fmt.Errorf("-data: %w", err)
	}
	s := server.Default()
	s.DatabaseURL, s.AdminPassword = filepath.Join(n.dir, databaseFile), n.password
	s.RateLimit, s.LogLevel = 1000, slog.LevelWarn
	if n.server, err = server.New(ctx, s, &server.Options{Log: server.NewLog(log, s)}); err != nil {
		return err
	}
	if n.devices <= 0 {
		return nil
	}
	_, err = demo.Fill(ctx, n.server.Store(), &demo.Options{Devices: n.devices})
	if inventory.KindOf(err) == inventory.Conflict {
		return nil // filled by an earlier run
	}
	return err
}

// prepare creates the directory, with -fresh without earlier data, and sets the password.
func (n *network) prepare() error {
	if err := os.MkdirAll(n.dir, 0o700); err != nil {
		return err
	}
	if n.fresh {
		// Only our own files: the directory may contain others.
		for _, name := range []string{databaseFile, databaseFile + "-wal", databaseFile + "-shm", passwordFile} {
			if err := os.Remove(filepath.Join(n.dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return n.readPassword()
}

// readPassword reads the admin's password, or generates one for a new inventory.
func (n *network) readPassword() error {
	path, database := filepath.Join(n.dir, passwordFile), filepath.Join(n.dir, databaseFile)
	text, err := os.ReadFile(path)
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
	return os.WriteFile(path, []byte(n.password+"\n"), 0o600)
}

func (n *network) serve(ctx context.Context) error { return n.server.Serve(ctx, n.listener) }

func (n *network) close() error {
	err := closeListener(n.listener)
	if n.server != nil {
		err = errors.Join(err, n.server.Close())
	}
	return err
}
