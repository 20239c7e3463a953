package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/config"
	"github.com/ashlar-go/ashlar/ratelimit/replay"
)

// replayLog replays the log of -replay against a configuration.
func replayLog(ctx context.Context, s *settings, c *config.Config, against *ratelimit.Ruleset, env cli.Env) (*replay.Report, error) {
	opts := &replay.Options{Format: replay.Format(s.logFormat), Against: against, Top: s.top}
	mapping, err := readMapping(s)
	if err != nil {
		return nil, err
	}
	opts.Mapping = mapping
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends a read of the standard input
	log, err := openLog(ctx, s.replay, env.Stdin)
	if err != nil {
		return nil, err
	}
	defer log.close()
	name := inputName
	if s.replay != standardInput {
		name = s.replay
	}
	p := newProgress(env.Stderr, log)
	opts.Progress = p.lines
	r, err := replay.Run(ctx, log, c.Ruleset, opts)
	p.end()
	if err != nil {
		return nil, fmt.Errorf("-replay %s: %w", cli.Printable(name), err)
	}
	if s.html != "" {
		return r, writeHTML(s.html, name, r)
	}
	return r, nil
}

// readMapping reads the file of -mapping and adds -domain.
func readMapping(s *settings) (*replay.Mapping, error) {
	m := &replay.Mapping{}
	if s.mapping != "" {
		data, err := os.ReadFile(s.mapping)
		if err != nil {
			return nil, fmt.Errorf("-mapping: %w", err)
		}
		if m, err = replay.ParseMapping(s.mapping, data); err != nil {
			return nil, err
		}
	}
	if s.domain != "" {
		m.Domain = s.domain
	}
	return m, nil
}

func writeHTML(path, title string, r *replay.Report) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("-html: %w", err)
	}
	return errors.Join(r.WriteHTML(f, title), f.Close())
}

// logFile is the log of -replay. It counts the bytes that are read.
type logFile struct {
	io.Reader
	file  *os.File // nil for the standard input
	total int64    // bytes; 0 if they are not known
	read  atomic.Int64
}

// openLog opens a file, or the standard input for "-", whose reading ends with ctx.
func openLog(ctx context.Context, path string, stdin io.Reader) (*logFile, error) {
	if path == standardInput {
		return &logFile{Reader: interruptible(ctx, stdin)}, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("-replay: %w", err)
	}
	l := &logFile{Reader: f, file: f}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		l.total = info.Size()
	}
	return l, nil
}

func (l *logFile) Read(p []byte) (int, error) {
	n, err := l.Reader.Read(p)
	l.read.Add(int64(n))
	return n, err
}

func (l *logFile) close() {
	if l.file != nil {
		_ = l.file.Close() // only read
	}
}

// interruptible returns a reader that ends with ctx, although a read from a terminal or pipe can't
// be interrupted.
func interruptible(ctx context.Context, r io.Reader) io.Reader {
	out, in := io.Pipe()
	go func() { // may stay blocked until the process ends
		_, err := io.Copy(in, r)
		_ = in.CloseWithError(err) // never fails
	}()
	context.AfterFunc(ctx, func() { _ = in.CloseWithError(context.Cause(ctx)) })
	return out
}

// progress prints how far the replay is: on a terminal several times a second in one line, else a
// line every some seconds.
type progress struct {
	w        io.Writer
	terminal bool
	log      *logFile
	start    time.Time
	next     time.Time
	printed  bool
}

const (
	lineEvery     = 10 * time.Second
	terminalEvery = 200 * time.Millisecond
)

func newProgress(w io.Writer, log *logFile) *progress {
	p := &progress{w: w, terminal: cli.IsTerminal(w), log: log, start: time.Now()}
	p.next = p.start.Add(p.every())
	return p
}

func (p *progress) every() time.Duration {
	if p.terminal {
		return terminalEvery
	}
	return lineEvery
}

func (p *progress) lines(n uint64) {
	now := time.Now()
	if now.Before(p.next) {
		return
	}
	p.next, p.printed = now.Add(p.every()), true
	text := progressText(n, p.log.read.Load(), p.log.total, now.Sub(p.start))
	if p.terminal {
		fmt.Fprintf(p.w, "\r%s\x1b[K", text)
	} else {
		fmt.Fprintf(p.w, "ratelimit-check: %s\n", text)
	}
}

// progressText returns a line such as "1200000 lines, 40 %, 400000 lines/s, 5s left".
func progressText(lines uint64, read, total int64, elapsed time.Duration) string {
	rate := float64(lines) / elapsed.Seconds()
	if total <= 0 || read <= 0 {
		return fmt.Sprintf("%d lines, %.0f lines/s", lines, rate)
	}
	part := float64(read) / float64(total)
	left := time.Duration(float64(elapsed) * (1 - part) / part)
	return fmt.Sprintf("%d lines, %.0f %%, %.0f lines/s, %v left", lines, 100*part, rate, left.Round(time.Second))
}

// end removes the line of a terminal.
func (p *progress) end() {
	if p.terminal && p.printed {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
