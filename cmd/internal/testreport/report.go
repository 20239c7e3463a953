package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// maxLine bounds a line of the output of go test -json, in bytes. Outputs of tests are split into
// shorter ones; the output of a compiler is not.
const maxLine = 16 << 20

// event is a line of go test -json (go doc test2json, go help buildjson).
type event struct {
	Action, Package, Test, Output, ImportPath, FailedBuild string
}

// report writes the progress and the result of the events that are written to it.
type report struct {
	out         io.Writer
	begin       time.Time
	total, done int // packages with tests, and those that passed or failed
	broken      int // packages that failed
	line        []byte
	long        bool              // line has more than maxLine bytes
	packages    map[string]*unit  // that run
	builds      map[string]*spool // output that was not shown yet

	passed, failed, skipped int
	failures                []string            // what failed, by package and test
	reasons                 map[string][]string // the skipped tests by reason
	malformed               int                 // lines that are no events
	errs                    []error             // of outputs
}

// unit is a package whose tests run.
type unit struct {
	output spool // of the package and its failed tests
	last   string
	tests  map[string]*test
	order  []string // of the names in tests
	failed []string
}

// test is a test that runs.
type test struct {
	output spool
	paused bool
	reason string // its last message, which is the reason if it is skipped
}

func newReport(out io.Writer, total int) *report {
	return &report{out: out, begin: time.Now(), total: total, packages: map[string]*unit{}, builds: map[string]*spool{}, reasons: map[string][]string{}}
}

// Write reads events. It never fails, because go test has to go on to the end.
func (r *report) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		part, after, whole := bytes.Cut(rest, []byte("\n"))
		rest = after
		r.long = r.long || len(r.line)+len(part) > maxLine
		if !r.long {
			r.line = append(r.line, part...)
		}
		if whole {
			r.read(r.line)
			r.line, r.long = r.line[:0], false
		}
	}
	return len(p), nil
}

// read reads an event.
func (r *report) read(line []byte) {
	var e event
	if err := json.Unmarshal(line, &e); err != nil || e.Action == "" || r.long {
		r.malformed++
		r.print("%.1000s\n", line)
		return
	}
	switch {
	case e.Action == "build-output":
		b := r.builds[e.ImportPath]
		if b == nil {
			b = &spool{}
			r.builds[e.ImportPath] = b
		}
		r.keep(b, e.Output)
	case e.Package == "":
	case e.Test == "":
		r.readPackage(&e)
	default:
		r.readTest(&e)
	}
}

func (r *report) print(format string, args ...any) {
	_, err := fmt.Fprintf(r.out, format, args...)
	r.check(err)
}

func (r *report) keep(s *spool, text string) {
	_, err := io.WriteString(s, text)
	r.check(err)
}

// check keeps the first error of an output.
func (r *report) check(err error) {
	if err != nil && len(r.errs) == 0 {
		r.errs = append(r.errs, err)
	}
}

func (r *report) unit(name string) *unit {
	u := r.packages[name]
	if u == nil {
		u = &unit{tests: map[string]*test{}}
		r.packages[name] = u
	}
	return u
}

// readPackage reads an event of a package.
func (r *report) readPackage(e *event) {
	u := r.unit(e.Package)
	switch e.Action {
	case "output":
		if strings.HasPrefix(e.Output, "ok  \t") || strings.HasPrefix(e.Output, "FAIL\t") || strings.HasPrefix(e.Output, "?   \t") {
			u.last = strings.TrimSuffix(e.Output, "\n") // the result of the package
			return
		}
		r.keep(&u.output, e.Output)
	case "pass", "fail", "skip":
		if e.FailedBuild != "" {
			r.showBuild(e.FailedBuild)
		}
		r.finishPackage(e.Package, u, e.Action)
	}
}

// showBuild shows the output of a build, once.
func (r *report) showBuild(name string) {
	if b := r.builds[name]; b != nil {
		r.check(b.moveTo(r.out))
		delete(r.builds, name)
	}
}

// finishPackage shows the result of a package.
func (r *report) finishPackage(name string, u *unit, result string) {
	delete(r.packages, name)
	if result == "skip" { // it has no tests
		r.check(u.output.drop())
		return
	}
	r.done++
	r.total = max(r.total, r.done)
	if result == "fail" {
		r.broken++
		for _, unfinished := range u.order {
			if t := u.tests[unfinished]; t != nil && !t.paused {
				r.failed++
				r.check(t.output.moveTo(&u.output))
				u.failed = append(u.failed, unfinished+" (did not finish)")
			}
		}
		r.check(u.output.moveTo(r.out))
		if len(u.failed) == 0 {
			u.failed = []string{"(" + firstOf(bracketed(u.last), "the package failed, and none of its tests") + ")"}
		}
		for _, failed := range u.failed {
			r.failures = append(r.failures, name+" "+failed)
		}
	}
	r.check(u.drop())
	r.print("[%d/%d] %s\n", r.done, r.total, firstOf(u.last, result+"\t"+name))
}

func (u *unit) drop() error {
	errs := []error{u.output.drop()}
	for _, t := range u.tests {
		errs = append(errs, t.output.drop())
	}
	return errors.Join(errs...)
}

// bracketed returns what the result of a package has in brackets: build failed.
func bracketed(last string) string {
	_, text, _ := strings.Cut(last, " [")
	return strings.TrimSuffix(text, "]")
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// readTest reads an event of a test.
func (r *report) readTest(e *event) {
	u := r.unit(e.Package)
	t := u.tests[e.Test]
	if t == nil {
		t = &test{}
		u.tests[e.Test] = t
		u.order = append(u.order, e.Test)
	}
	switch e.Action {
	case "pause", "cont":
		t.paused = e.Action == "pause"
		return
	case "output":
		t.reason = message(t.reason, e.Output)
		r.keep(&t.output, e.Output)
		return
	case "pass":
		r.passed++
	case "skip":
		r.skipped++
		reason := firstOf(t.reason, "no reason given")
		r.reasons[reason] = append(r.reasons[reason], e.Package+" "+e.Test)
	case "fail":
		r.failed++
		u.failed = append(u.failed, e.Test)
		r.check(t.output.moveTo(&u.output))
	default:
		return
	}
	r.check(t.output.drop())
	delete(u.tests, e.Test)
	u.order = slices.DeleteFunc(u.order, func(name string) bool { return name == e.Test })
}

// close drops what was kept.
func (r *report) close() {
	for _, u := range r.packages {
		_ = u.drop() // the report has ended
	}
	for _, b := range r.builds {
		_ = b.drop()
	}
}
