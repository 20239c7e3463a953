package server

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/httpx/ui"
	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/internal/ratelimit/settings"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/config"
	"github.com/ashlar-go/ashlar/ratelimit/console"
)

// consolePath is the path of the console on the debug listener.
const consolePath = "/console"

// buildConsole creates the pages of the console.
func (s *Server) buildConsole(context.Context) error {
	if !s.settings.DebugConsole {
		return nil
	}
	reset, err := s.settings.ReadAdminToken()
	if err != nil {
		return err
	}
	store := s.settings.Backend // no address, which may have a password
	if s.opts.Store != nil {
		store = "of the program"
	}
	s.console, err = console.New(s.engine, &console.Options{
		Prefix: consolePath, Load: s.loadState, Files: s.consoleFiles(), Health: s.consoleHealth, Stats: s.registry,
		Store: store, ResetToken: reset,
		CounterKeyPrefix: s.settings.CacheKeyPrefix, CounterKeyFormat: ratelimit.KeyFormat(s.settings.CounterKeyFormat),
		Links: append([]ui.NavLink{
			{Label: "Statistics", URL: "/stats", Icon: "file"},
			{Label: "All limits", URL: "/rlconfig", Icon: "file"},
			{Label: "Busiest keys", URL: "/topkeys", Icon: "file"},
			{Label: "Debug pages", URL: "/", Icon: "settings"},
		}, s.opts.ConsoleLinks...),
		Log: s.log, Assignments: s.assignments(),
	})
	if err != nil {
		return fmt.Errorf("console (ADMIN_TOKEN): %w", err)
	}
	return nil
}

// loadState returns the state of the configuration.
func (s *Server) loadState() console.Load {
	out := *s.load.Load()
	switch address := s.settings.XDSServerURL; {
	case s.opts.Files != nil:
		out.Origin = "files of the program"
	case s.settings.ConfigType == settings.GRPCXDSSOTW:
		out.Origin = "configuration server " + printable.String(address[strings.LastIndex(address, "@")+1:])
	default:
		out.Origin = "files in " + printable.String(s.dir().Path())
	}
	return out
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
	all := s.Components()
	for i := range all {
		all[i].Reason = printable.String(cmp.Or(all[i].Reason, "–"))
	}
	return all
}

// assignments returns how to list the assignments of quotas, nil without QUOTA_ENABLED.
func (s *Server) assignments() func(domain string, path []ratelimit.Entry, n int) ([]console.Assignment, int) {
	if s.quota == nil {
		return nil
	}
	return func(domain string, path []ratelimit.Entry, n int) (out []console.Assignment, count int) {
		all, count := s.quota.Assignments(domain, path, n)
		for _, a := range all {
			out = append(out, console.Assignment(a))
		}
		return out, count
	}
}
