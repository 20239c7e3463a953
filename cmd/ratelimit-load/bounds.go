package main

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"time"
	"unicode/utf8"
)

// Upper bounds of what one run may ask for: they keep its memory and its time
// within what a machine has.
const (
	maxConnections = 1024
	maxConcurrency = 4096
	maxRate        = 1e6
	maxDuration    = 24 * time.Hour
	maxDescriptors = 100
	maxEncoded     = 10_000_000 // descriptors in all the prepared requests
	maxRounds      = 1000
)

// checkModes refuses flags that would go unheard.
func (s *settings) checkModes(flags *flag.FlagSet) error {
	given := make(map[string]bool)
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	switch {
	case given["serve-floor"] && len(given) > 1:
		return errors.New("-serve-floor serves and loads nothing; it takes no other flag beside it")
	case given["compare"] && (given["addr"] || given["pids"]):
		return errors.New("-compare names the addresses and process ids itself; leave out -addr and -pids")
	case given["rounds"] && !given["compare"]:
		return errors.New("-rounds needs -compare: a single target is measured once, for -duration")
	}
	return nil
}

func (s *settings) checkLoad() error {
	return errors.Join(
		between("connections", s.connections, 1, maxConnections),
		between("concurrency", s.concurrency, 1, maxConcurrency),
		between("rounds", s.rounds, 1, maxRounds),
		between("calls", s.calls, 1, math.MaxInt64),
		between("duration", s.duration, time.Millisecond, maxDuration),
		between("warmup", s.warmup, 0, maxDuration),
		s.checkAddr(),
		s.checkRate(),
		s.checkConnections(),
	)
}

func (s *settings) checkAddr() error {
	if isAddress(s.addr) {
		return nil
	}
	return fmt.Errorf("-addr %q: want host:port", s.addr)
}

func (s *settings) checkRate() error {
	if s.rate == 0 || s.rate >= 0.001 && s.rate <= maxRate {
		return nil
	}
	return fmt.Errorf("-rate %v: want 0 for the closed loop, or from 0.001 to %v calls a second", s.rate, float64(maxRate))
}

func (s *settings) checkConnections() error {
	if s.connections <= s.concurrency {
		return nil
	}
	return fmt.Errorf("-connections %d with -concurrency %d: some connections would carry no call; want at least one call for each", s.connections, s.concurrency)
}

func (s *settings) checkRequests() error {
	return errors.Join(
		filled("domain", s.domain),
		filled("entry", s.entry),
		between("keys", s.keys, 1, maxEncoded),
		between("descriptors", s.descriptors, 1, maxDescriptors),
		between("hits", s.hits, 0, math.MaxUint32),
		s.checkEncoded(),
		checkDistribution(s.distribution),
	)
}

func (s *settings) checkEncoded() error {
	if s.descriptors > maxDescriptors || s.keys <= maxEncoded/max(s.descriptors, 1) {
		return nil
	}
	return fmt.Errorf("-keys %d with -descriptors %d: all requests are prepared in memory; want at most %d descriptors in all", s.keys, s.descriptors, maxEncoded)
}

func (s *settings) checkFormat() error {
	if s.format == "text" || s.format == "json" {
		return nil
	}
	return fmt.Errorf("-format %q: unknown; want text or json", s.format)
}

// between checks a flag's value; low and high are the least and the greatest allowed.
func between[T int | uint | uint64 | time.Duration](name string, v, low, high T) error {
	if v < low || v > high {
		return fmt.Errorf("-%s %v: want from %v to %v", name, v, low, high)
	}
	return nil
}

func filled(name, v string) error {
	if v == "" || !utf8.ValidString(v) {
		return fmt.Errorf("-%s %q: want text in UTF-8, not empty", name, v)
	}
	return nil
}
