package main

import (
	"context"
	"errors"
	"io"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
)

func run(ctx context.Context, env cli.Env) error {
	s, err := parseSettings(env)
	if err != nil {
		return err
	}
	stdin, err := readInput(ctx, s, env.Stdin)
	if err != nil {
		return err
	}
	r, err := check(s, stdin)
	if err != nil {
		return err
	}
	if err := r.write(env.Stdout, s.format); err != nil {
		return err
	}
	if !r.OK {
		return errors.New("") // all has been said
	}
	return nil
}

// maxInput is one byte more than package config accepts of a file.
const maxInput = 16<<20 + 1

// readInput reads the standard input if it is to be checked. A terminal that nobody
// types on must not keep the program from ending when it is told to.
func readInput(ctx context.Context, s *settings, stdin io.Reader) ([]byte, error) {
	if !s.reads(standardInput) {
		return nil, nil
	}
	type input struct {
		data []byte
		err  error
	}
	done := make(chan input, 1)
	go func() { // ends with the process at the latest
		data, err := io.ReadAll(io.LimitReader(stdin, maxInput))
		done <- input{data, err}
	}()
	select {
	case in := <-done:
		return in.data, in.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
