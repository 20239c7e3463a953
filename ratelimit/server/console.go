package server

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ashlar-go/ashlar/httpx/ui"
	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/config"
	"github.com/ashlar-go/ashlar/ratelimit/console"
	"github.com/ashlar-go/ashlar/ratelimit/settings"
)

// consolePath is the path of the console on the debug listener.
const consolePath = "/console"

// loads remembers how the last configurations were loaded.
type loads struct {
	mu   sync.Mutex
	last console.Load // without Origin
}

func (l *loads) succeeded(domains []ratelimit.Domain, warnings []*config.Fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.last = console.Load{Domains: domains, Loaded: now, Tried: now, Warnings: warnings}
}

func (l *loads) failed(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last.Tried, l.last.Err = time.Now(), err
}

// buildConsole creates the pages of the console.
func (s *Server) buildConsole(context.Context) error {
	if !s.settings.DebugConsole {
		return nil
	}
	reset, err := s.settings.ReadAdminToken()
	if err != nil {
		return err
	}
	s.console, err = console.New(s.engine, &console.Options{
		Prefix: consolePath, Load: s.loadState, Files: s.consoleFiles(), Health: s.consoleHealth, Stats: s.registry,
		Store: s.storeName(), ResetToken: reset,
		CounterKeyPrefix: s.settings.CacheKeyPrefix, CounterKeyFormat: ratelimit.KeyFormat(s.settings.CounterKeyFormat),
		Links: s.consoleLinks(), Log: s.log,
	})
	if err != nil {
		return fmt.Errorf("console (ADMIN_TOKEN): %w", err)
	}
	return nil
}

// consoleLinks leads from the console to the other pages of the debug listener.
func (s *Server) consoleLinks() []ui.NavLink {
	return append([]ui.NavLink{
		{Label: "Statistics", URL: "/stats", Icon: "file"},
		{Label: "All limits", URL: "/rlconfig", Icon: "file"},
		{Label: "Busiest keys", URL: "/topkeys", Icon: "file"},
		{Label: "Debug pages", URL: "/", Icon: "settings"},
	}, s.opts.ConsoleLinks...)
}

// storeName names the kind of store: no address, which may have a password.
func (s *Server) storeName() string {
	if s.opts.Store != nil {
		return "of the program"
	}
	return s.settings.Backend
}

// loadState returns the state of the configuration.
func (s *Server) loadState() console.Load {
	s.loads.mu.Lock()
	defer s.loads.mu.Unlock()
	out := s.loads.last
	out.Origin = s.origin()
	return out
}

func (s *Server) origin() string {
	switch {
	case s.opts.Files != nil:
		return "files of the program"
	case s.settings.ConfigType == settings.GRPCXDSSOTW:
		address := s.settings.XDSServerURL
		return "configuration server " + printable.String(address[strings.LastIndex(address, "@")+1:])
	}
	return "files in " + printable.String(s.dir().Path())
}

// consoleFiles returns how to read the configuration files, nil if there are none.
func (s *Server) consoleFiles() func() ([]config.File, error) {
	switch {
	case s.opts.Files != nil:
		return func() ([]config.File, error) { return slices.Clone(s.opts.Files), nil } // New has checked them
	case s.settings.ConfigType == settings.GRPCXDSSOTW:
		return nil
	}
	return func() ([]config.File, error) { return config.ReadDir(s.dir(), s.configOptions()) }
}

// dir returns the directory of the configuration files.
func (s *Server) dir() config.Dir {
	return config.Dir{
		Root: s.settings.RuntimeRoot, Subdirectory: s.settings.RuntimeSubdirectory, AppDirectory: s.settings.RuntimeAppDirectory,
	}
}

func (s *Server) consoleHealth() []console.Component {
	var all []console.Component
	for _, c := range s.Components() {
		all = append(all, console.Component{Name: c.Name, Healthy: c.Healthy, Reason: printable.String(cmp.Or(c.Reason, "–")), Since: c.Since})
	}
	return all
}
