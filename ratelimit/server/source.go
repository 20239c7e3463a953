package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/ashlar-go/ashlar/internal/ratelimit/settings"
	"github.com/ashlar-go/ashlar/internal/tlsfiles"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/config"
	"github.com/ashlar-go/ashlar/ratelimit/console"
	"github.com/ashlar-go/ashlar/ratelimit/xds"
)

// maxWarnings limits how many warnings of a configuration are logged.
const maxWarnings = 50

// maxIgnored limits how many ignored files are named in the log.
const maxIgnored = 10

// buildSource creates the source of the configuration.
func (s *Server) buildSource(context.Context) error {
	if s.opts.Files != nil {
		return s.useFiles(s.opts.Files)
	}
	if s.settings.ConfigType == settings.GRPCXDSSOTW {
		return s.buildDiscovery()
	}
	s.source = s.followFiles
	return nil
}

// use makes rules effective, unless the store can't hold their limits. It logs the warnings,
// and attrs.
func (s *Server) use(rules *ratelimit.Ruleset, warnings []*config.Fault, attrs ...any) error {
	if err := s.engine.Use(rules); err != nil {
		return err
	}
	for _, w := range warnings[:min(len(warnings), maxWarnings)] {
		s.log.Warn("configuration", "warning", w)
	}
	if omitted := len(warnings) - maxWarnings; omitted > 0 {
		s.log.Warn("more warnings about the configuration are omitted", "omitted", omitted)
	}
	s.log.Info("configuration loaded", append(attrs, "domains", rules.Len())...)
	now := time.Now()
	s.load.Store(&console.Load{Loaded: now, Tried: now, Warnings: warnings})
	s.loadSuccess.Add(1)
	s.loadOK.Set(1)
	s.reportConfig(rules.Len() > 0, fmt.Sprintf("%d domains loaded", rules.Len()))
	s.once.Do(func() {
		close(s.configured)
		debug.FreeOSMemory() // of what decoding the first rules took, which may be many
	})
	return nil
}

// reject counts and logs an invalid configuration. The previous one stays active.
func (s *Server) reject(err error) {
	faults := []error{err}
	if all, ok := errors.AsType[config.Faults](err); ok {
		faults = all.Unwrap()
	}
	last := *s.load.Load()
	last.Tried, last.Err = time.Now(), err
	s.load.Store(&last)
	for _, fault := range faults {
		s.log.Error("error loading configuration", "err", fault)
	}
	s.loadError.Add(1)
	s.loadOK.Set(0)
}

// useFiles uses a configuration that never changes.
func (s *Server) useFiles(list []config.File) error {
	c, err := config.Parse(list, s.configOptions())
	if err == nil {
		err = s.useConfig(c)
	}
	if err != nil {
		return fmt.Errorf("invalid configuration:\n%w", err)
	}
	s.source = func(ctx context.Context) { <-ctx.Done() }
	return nil
}

func (s *Server) configOptions() *config.Options {
	return &config.Options{
		MergeDomains: s.settings.MergeDomainConfig, CalendarMonths: s.settings.CalendarMonths,
		IgnoreDotFiles: s.settings.RuntimeIgnoreDotFiles, Fields: s.fields,
	}
}

// useConfig uses a configuration of files.
func (s *Server) useConfig(c *config.Config) error {
	err := s.use(c.Ruleset, c.Warnings, "files", len(c.Files))
	if n := len(c.Ignored); n > 0 && err == nil {
		// An error, so that it is seen at every log level: limits may be missing.
		s.log.Error("files passed over: their names end in neither .yaml nor .yml", "number", n, "files", c.Ignored[:min(n, maxIgnored)])
	}
	return err
}

// followFiles loads the files, and reloads them when they change. Its statistics are
// those of the reference service's file loader (REFERENCE.md, 5.1).
func (s *Server) followFiles(ctx context.Context) {
	attempts := s.registry.Counter("runtime.load_attempts")
	failures := s.registry.Counter("runtime.load_failures")
	values := s.registry.Gauge("runtime.num_values")
	loaded := func(c *config.Config) {
		attempts.Add(1)
		values.Set(uint64(len(c.Files)))
		if err := s.useConfig(c); err != nil {
			s.reject(err)
		}
	}
	failed := func(err error) {
		attempts.Add(1)
		if _, ok := errors.AsType[config.Faults](err); !ok {
			failures.Add(1) // the files could not be read
		}
		s.reject(err)
	}
	dir := s.dir()
	root, err := os.Lstat(filepath.Clean(dir.Root))
	_, missing := os.Stat(dir.Path())                           // which is watched itself until it exists
	_, noMount := os.Lstat(filepath.Join(dir.Path(), "..data")) // a ConfigMap
	fixed := err == nil && missing == nil && root.Mode()&fs.ModeSymlink == 0 || noMount == nil
	if s.settings.RuntimeWatchRoot && fixed {
		s.log.Warn("changes of the files will not be seen, because only a symbolic link RUNTIME_ROOT is watched: set RUNTIME_WATCH_ROOT=false to watch the files", "RUNTIME_ROOT", dir.Root, "files", dir.Path())
	}
	opts := &config.WatchOptions{WatchContents: !s.settings.RuntimeWatchRoot, Load: s.configOptions(), Log: s.log}
	if err = config.Watch(ctx, dir, opts, loaded, failed); err == nil {
		return
	}
	s.log.Error("configuration files are not watched; changes need a restart", "err", err)
	if c, err := config.LoadDir(dir, opts.Load); err != nil {
		failed(err)
	} else {
		loaded(c)
	}
}

// buildDiscovery creates a client of the configuration server.
func (s *Server) buildDiscovery() error {
	set := s.settings
	opts := &xds.Options{
		NodeID:          set.XDSNodeID,
		NodeMetadata:    set.XDSNodeMetadata,
		MaxMessageBytes: set.XDSMaxMessageSize,
		RetryInterval:   set.XDSRetryInterval,
		Backoff: xds.Backoff{
			Initial: set.XDSBackoffInitial, Max: set.XDSBackoffMax,
			Factor: set.XDSBackoffFactor, Jitter: set.XDSBackoffJitter,
		},
		MergeDomains:   set.MergeDomainConfig,
		CalendarMonths: set.CalendarMonths,
		Fields:         s.fields,
		Strict:         set.XDSStrict,
		Log:            s.log,
	}
	for _, h := range set.XDSHeaders {
		opts.Headers = append(opts.Headers, xds.Header{Name: h.Name, Value: h.Value})
	}
	if set.XDSUseTLS {
		tls, err := tlsfiles.ClientConfig(tlsfiles.ClientFiles{
			CACert: set.XDSServerCACert, Cert: set.XDSClientTLSCert, Key: set.XDSClientTLSKey, SAN: set.XDSServerSAN,
		}, &tlsfiles.Options{Log: s.log})
		if err != nil {
			return fmt.Errorf("TLS to the configuration server (CONFIG_GRPC_XDS_*_TLS_*):\n%w", err)
		}
		opts.TLS = tls
	}
	client, err := xds.New(set.XDSServerURL, opts)
	if err != nil {
		return fmt.Errorf("configuration server (CONFIG_GRPC_XDS_SERVER_URL, CONFIG_GRPC_XDS_NODE_ID, CONFIG_GRPC_XDS_NODE_METADATA, CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS):\n%w", err)
	}
	use := func(u *xds.Update) error {
		return s.use(u.Ruleset, u.Warnings, "version", u.Version, "resources", len(u.Resources))
	}
	s.source = func(ctx context.Context) { client.Run(ctx, use, s.rejectUpdate) }
	return nil
}

// rejectUpdate logs rejected updates and lost connections. Only the former are errors of
// the configuration.
func (s *Server) rejectUpdate(err error) {
	if _, ok := errors.AsType[*xds.RejectedError](err); !ok {
		s.log.Warn("connection to the configuration server", "err", err)
		return
	}
	s.reject(err)
}
