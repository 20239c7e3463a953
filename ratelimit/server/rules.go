package server

import (
	"errors"
	"fmt"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/config"
)

// loadRules reads the configuration. With FORCE_START_WITHOUT_INITIAL_CONFIG a
// broken one is logged, and there are no rules.
func (s *server) loadRules(files []config.File) (*ratelimit.Ruleset, error) {
	set := s.settings
	opts := &config.Options{MergeDomains: set.MergeDomainConfig, IgnoreDotFiles: set.RuntimeIgnoreDotFiles}
	var c *config.Config
	var err error
	if files != nil {
		c, err = config.Parse(files, opts)
	} else {
		c, err = config.LoadDir(set.RuntimeRoot, set.RuntimeSubdirectory, set.RuntimeAppDirectory, opts)
	}
	if err == nil {
		s.logWarnings(c.Warnings)
		s.log.Info("configuration loaded", "files", len(c.Files), "domains", c.Ruleset.Len())
		return c.Ruleset, nil
	}
	if !set.ForceStart {
		return nil, fmt.Errorf("the configuration can't be loaded:\n%w", err)
	}
	for _, fault := range each(err) {
		s.log.Error("error loading configuration", "err", fault)
	}
	return nil, nil
}

// maxWarnings is how many warnings are worth a line each.
const maxWarnings = 50

func (s *server) logWarnings(warnings []*config.Fault) {
	for i, w := range warnings {
		if i == maxWarnings {
			s.log.Warn("more warnings about the configuration are left out", "left_out", len(warnings)-i)
			return
		}
		s.log.Warn("configuration", "warning", w)
	}
}

func each(err error) []error {
	if faults, ok := errors.AsType[config.Faults](err); ok {
		return faults.Unwrap()
	}
	return []error{err}
}
