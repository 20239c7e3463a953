package main

import (
	"context"
	"errors"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/ratelimit"
)

func (s *settings) run(ctx context.Context, env cli.Env) (err error) {
	var stdin []byte
	if s.reads(standardInput) {
		if stdin, err = env.ReadInput(ctx, maxInput); err != nil {
			return err
		}
	}
	r, err := check(s, stdin)
	if err != nil {
		return err
	}
	r.color = s.color.On(env)
	var failed error
	if s.replay != "" && r.config != nil {
		if failed, err = r.replay(ctx, s, env); err != nil {
			return err
		}
	}
	if err := r.write(env.Stdout, s.format); err != nil {
		return err
	}
	if !r.OK {
		return errReported
	}
	return failed
}

// errReported is an error of which the report has the details.
var errReported = errors.New("")

// replay replays the log of -replay, unless the other configuration has errors. failed is the
// reason if -fail asks for the exit code 1.
func (r *report) replay(ctx context.Context, s *settings, env cli.Env) (failed, err error) {
	var against *ratelimit.Ruleset
	if s.against != "" {
		other, err := check(&settings{paths: []string{s.against}, merge: s.merge, ignoreDotFiles: s.ignoreDotFiles, calendarMonths: s.calendarMonths}, nil)
		if err != nil {
			return nil, err
		}
		if r.Errors = append(r.Errors, other.Errors...); other.config == nil {
			r.OK = false
			return nil, nil
		}
		against = other.config.Ruleset
	}
	if r.Replay, err = replayLog(ctx, s, r.config, against, env); err != nil {
		return nil, err
	}
	refused := r.Replay.Result.Refused
	if d := r.Replay.Difference; d != nil {
		refused = d.OnlyResult
	}
	switch {
	case s.fail && r.Replay.Result.Unlimited == r.Replay.Requests:
		return errors.New("-fail: no request of the log is held to a limit, so that nothing was decided"), nil
	case s.fail && refused > 0:
		return errReported, nil
	}
	return nil, nil
}

// maxInput is one byte more than package config accepts of a file.
const maxInput = 16<<20 + 1
