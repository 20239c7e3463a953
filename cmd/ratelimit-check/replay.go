package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/cmd/ratelimit-check/internal/replay"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/config"
)

// replayLog replays the log of -replay against a configuration.
func replayLog(ctx context.Context, s *settings, c *config.Config, against *ratelimit.Ruleset, env cli.Env) (*replay.Report, error) {
	mapping, err := readMapping(s)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends a read of the standard input
	log, err := openLog(ctx, s.replay, env)
	if err != nil {
		return nil, err
	}
	defer log.close()
	name := inputName
	if s.replay != standardInput {
		name = s.replay
	}
	p := cli.NewProgress(env, "ratelimit-check")
	r, err := replay.Run(ctx, log, c.Ruleset, &replay.Options{
		Format: replay.Format(s.logFormat), Mapping: mapping, Against: against, Top: s.top,
		Progress: func(lines uint64) {
			p.Show(func(elapsed time.Duration) string { return progressText(lines, log.read, log.total, elapsed) })
		},
	})
	p.End()
	if err != nil {
		return nil, fmt.Errorf("-replay %s: %w", cli.Printable(name), err)
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

// logFile is the log of -replay. It counts the bytes that are read.
type logFile struct {
	io.Reader
	file  *os.File // nil for the standard input
	total int64    // bytes; 0 if they are not known
	read  int64
}

// openLog opens a file, or the standard input for "-", whose reading ends with ctx.
func openLog(ctx context.Context, path string, env cli.Env) (*logFile, error) {
	if path == standardInput {
		return &logFile{Reader: env.Input(ctx)}, nil
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
	l.read += int64(n)
	return n, err
}

func (l *logFile) close() {
	if l.file != nil {
		_ = l.file.Close() // only read
	}
}

// progressText returns a line such as "1200000 lines, 40 %, 400000 lines/s, 5s left".
func progressText(lines uint64, read, total int64, elapsed time.Duration) string {
	rate := float64(lines) / elapsed.Seconds()
	return cli.Part(read, total, fmt.Sprintf("%d lines, %.0f lines/s", lines, rate),
		fmt.Sprintf("%d lines, %.0f %%, %.0f lines/s", lines, 100*float64(read)/float64(max(total, 1)), rate), elapsed)
}
