package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
)

// procRoot is where Linux mounts the proc file system.
const procRoot = "/proc"

// gcPercent lets the generator's small heap grow further between collections
// than the default of 100 does, which would collect many times a second.
const gcPercent = 800

func run(ctx context.Context, env cli.Env) error {
	s, err := parseSettings(env)
	if err != nil {
		return err
	}
	if s.floor != "" {
		return serveFloor(ctx, s.floor, env.Stdout) // untuned, as a plain server is
	}
	if _, chosen := env.Environ["GOGC"]; !chosen {
		defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	}
	return generate(ctx, s, env)
}

func generate(ctx context.Context, s *settings, env cli.Env) error {
	l, err := newLoad(s)
	if err != nil {
		return err
	}
	m, err := newMeter(procRoot, s.watched())
	if err != nil {
		return err
	}
	if len(s.compare) > 0 {
		return compare(ctx, s, l, m, env)
	}
	return single(ctx, s, l, m, env.Stdout)
}

// single measures one target and prints what there is, even if the target or one
// of its processes went away meanwhile.
func single(ctx context.Context, s *settings, l *load, m *meter, stdout io.Writer) error {
	t := &target{addr: s.addr, pids: s.pids}
	defer t.close()
	if err := t.connect(ctx, s.connections, l.requests.get(0)); err != nil {
		return err
	}
	l.drive(ctx, t, s.warmup)
	result, err := m.measure(ctx, l, t, s.duration)
	if result == nil {
		return err
	}
	if result.answered() == 0 && !result.interrupted {
		err = errors.Join(err, fmt.Errorf("none of %d calls to %s was answered", result.sent(), t.addr))
	}
	return errors.Join(newReport(s, t, result).write(stdout, s.format), err)
}

func compare(ctx context.Context, s *settings, l *load, m *meter, env cli.Env) error {
	c := &comparison{targets: s.compare, load: l, meter: m}
	err := c.run(ctx, s)
	if len(c.rounds) == 0 {
		if err == nil {
			fmt.Fprintln(env.Stderr, "interrupted before the first round was complete: nothing to compare")
		}
		return err
	}
	return errors.Join(c.report(s.rounds).write(env.Stdout, s.format), err)
}
