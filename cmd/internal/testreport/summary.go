package main

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
)

const (
	maxNames  = 10  // tests that are listed for a reason
	maxReason = 300 // bytes of a reason
)

// located matches the first line of a message of a test, which may follow a line that was not ended.
var located = regexp.MustCompile(`\s[^\s:]+\.go:\d+: (.*)\n?$`)

// message returns the last message of a test, after a further line of output. The further lines of a
// message are indented more than its first one.
func message(last, output string) string {
	var found []string
	if strings.Contains(output, ".go:") { // the expression is slow
		found = located.FindStringSubmatch(output)
	}
	if found != nil {
		last = strings.TrimSpace(found[1])
	} else if last != "" && strings.HasPrefix(output, "        ") && !strings.HasPrefix(strings.TrimSpace(output), "--- ") {
		last += " " + strings.TrimSpace(output)
	}
	return last[:min(len(last), maxReason)]
}

// finish writes the summary. It returns an error unless all packages passed; of is that of go test.
func (r *report) finish(of error) error {
	if len(r.line) > 0 {
		r.read(r.line)
	}
	for _, name := range slices.Sorted(maps.Keys(r.builds)) {
		r.showBuild(name)
	}
	for _, name := range slices.Sorted(maps.Keys(r.packages)) {
		u := r.packages[name]
		u.failed = append(u.failed, "(go test ended before the package)")
		r.finishPackage(name, u, "fail")
	}
	r.print("\n%d passed, %d failed, %d skipped in %s\n", r.passed, r.failed, r.skipped, time.Since(r.begin).Round(100*time.Millisecond))
	for i, reason := range slices.Sorted(maps.Keys(r.reasons)) {
		if i == 0 {
			r.print("\nskipped:\n")
		}
		names := r.reasons[reason]
		slices.Sort(names)
		r.print("  %s: %s\n", cli.Count(len(names), "test"), reason)
		for _, name := range names[:min(len(names), maxNames)] {
			r.print("      %s\n", name)
		}
		if more := len(names) - maxNames; more > 0 {
			r.print("      and %d more\n", more)
		}
	}
	for i, failure := range r.failures {
		if i == 0 {
			r.print("\nfailed:\n")
		}
		r.print("  %s\n", failure)
	}
	return errors.Join(slices.Concat(r.problems(of), r.errs)...)
}

// problems returns why the run is no success. of is the error of go test.
func (r *report) problems(of error) (errs []error) {
	if r.broken > 0 {
		errs = append(errs, fmt.Errorf("%d of %s failed", r.broken, cli.Count(r.done, "package")))
	} else if of != nil {
		errs = append(errs, fmt.Errorf("go test: %v", of))
	}
	if r.malformed > 0 {
		errs = append(errs, fmt.Errorf("%s of go test -json cannot be read", cli.Count(r.malformed, "line")))
	}
	if r.done == 0 {
		errs = append(errs, errors.New("no package was tested: name packages with tests"))
	}
	return errs
}
