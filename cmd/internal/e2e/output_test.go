//go:build unix

package e2e_test

import (
	"bytes"
	"regexp"
	"sync"
	"time"
)

// timeout limits each wait. It is long because the machine may be slow, and busy compiling.
const timeout = 5 * time.Minute

// output collects the output of a program, and can wait for a pattern.
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

// await waits until the output matches a pattern and returns the submatches. It returns nil if the
// program ends or the timeout expires before that.
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
