package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"

	"github.com/spf13/pflag"
)

// port is a port that a system listens on.
type port struct {
	number     int
	flag, what string
	listener   net.Listener // nil before openPorts
}

// newPort defines the flag of a port. what says what listens there.
func newPort(flags *pflag.FlagSet, name string, number int, what string) *port {
	p := &port{flag: name, what: what}
	flags.IntVar(&p.number, name, number, "`port` of "+what+"; 0 picks a free one")
	return p
}

// close closes the listener, which may be closed already.
func (p *port) close() error {
	if p.listener == nil {
		return nil
	}
	if err := p.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// release closes the listener and returns its port, for a server that listens by itself.
func (p *port) release() (int, error) {
	return p.listener.Addr().(*net.TCPAddr).Port, p.close()
}

// openPorts opens the listeners of all ports. A port that the user has not chosen and that is taken is replaced by
// a free one: the notes say so. Chosen ports come first, and the error names all of them that are taken.
func openPorts(ctx context.Context, host string, flags *pflag.FlagSet, all ...*port) (notes []string, err error) {
	rank := func(p *port) int {
		if flags.Changed(p.flag) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(all, func(a, b *port) int { return rank(a) - rank(b) })
	listen := func(number int) (net.Listener, error) {
		return new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(number)))
	}
	var taken []error
	for _, p := range all {
		var failure error
		if p.listener, failure = listen(p.number); failure == nil {
			continue
		}
		p.listener = nil
		other, hostFailure := listen(0)
		switch {
		case hostFailure != nil:
			return nil, fmt.Errorf("-host: %w", hostFailure)
		case flags.Changed(p.flag):
			taken = append(taken, portTaken(failure, "-"+p.flag), other.Close())
		default:
			p.listener = other
			notes = append(notes, fmt.Sprintf("port %d is taken: %s uses %d", p.number, p.what, other.Addr().(*net.TCPAddr).Port))
		}
	}
	return notes, errors.Join(taken...)
}

// portTaken adds the flag of a listener to its error.
func portTaken(err error, flag string) error {
	return fmt.Errorf("%w: choose another port with %s, or 0 for any free port", err, flag)
}
