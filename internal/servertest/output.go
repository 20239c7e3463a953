package servertest

import "sync"

// output is the end of what a process says.
type output struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	const most = 16 << 10
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text = append(o.text, p...)
	if over := len(o.text) - most; over > 0 {
		o.text = append(o.text[:0], o.text[over:]...)
	}
	return len(p), nil
}

// String implements fmt.Stringer.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.text)
}
