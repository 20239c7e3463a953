//go:build unix

package e2e_test

import (
	"bytes"
	"regexp"
	"sync"
	"time"
)

// timeout is how long anything is waited for that is expected to come. It is
// reached only when something is broken: a machine may be slow, and busy with other tests.
const timeout = 2 * time.Minute

// output is what a program prints, to be waited for.
type output struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{} // closed at the next write
}

func newOutput() *output { return &output{changed: make(chan struct{})} }

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.changed)
	o.changed = make(chan struct{})
	return o.text.Write(p)
}

func (o *output) String() string {
	text, _ := o.state()
	return text
}

func (o *output) state() (text string, changed <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String(), o.changed
}

// await returns the submatches of pattern as soon as it matches; nil if it does
// not until the program has ended or timeout has.
func (o *output) await(pattern string, ended <-chan struct{}) []string {
	re := regexp.MustCompile(pattern)
	limit := time.After(timeout)
	for {
		text, changed := o.state()
		if found := re.FindStringSubmatch(text); found != nil {
			return found
		}
		select {
		case <-changed:
		case <-ended:
			return re.FindStringSubmatch(o.String())
		case <-limit:
			return nil
		}
	}
}
