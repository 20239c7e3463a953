package main

import (
	"context"
	"errors"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
)

func run(ctx context.Context, env cli.Env) error {
	s, err := parseSettings(env)
	if err != nil {
		return err
	}
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
	if err := r.write(env.Stdout, s.format); err != nil {
		return err
	}
	if !r.OK {
		return errors.New("") // the report has the details
	}
	return nil
}

// maxInput is one byte more than package config accepts of a file.
const maxInput = 16<<20 + 1
