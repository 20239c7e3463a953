package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"strconv"
)

// ports opens listeners. A port that the user has not chosen and that is taken is replaced by a free one.
type ports struct {
	host   string
	chosen map[string]bool // flags that the user has set
	notes  []string        // what was replaced, for the user
}

func newPorts(host string, flags *flag.FlagSet) *ports {
	p := &ports{host: host, chosen: map[string]bool{}}
	flags.Visit(func(f *flag.Flag) { p.chosen[f.Name] = true })
	return p
}

// listen opens the port of a flag. what says in a note what listens there.
func (p *ports) listen(ctx context.Context, port int, flag, what string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(p.host, strconv.Itoa(port)))
	if err == nil {
		return l, nil
	}
	if !p.chosen[flag] {
		if other, otherErr := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(p.host, "0")); otherErr == nil {
			p.notes = append(p.notes, fmt.Sprintf("port %d is taken: %s uses %d", port, what, other.Addr().(*net.TCPAddr).Port))
			return other, nil
		}
	}
	return nil, portTaken(err, "-"+flag)
}

// free returns the port of a flag, or a free one in its place, for a server that listens by itself.
func (p *ports) free(ctx context.Context, port int, flag, what string) (int, error) {
	if p.chosen[flag] {
		return port, nil
	}
	l, err := p.listen(ctx, port, flag, what)
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

// portTaken adds the flag of a listener to its error.
func portTaken(err error, flag string) error {
	return fmt.Errorf("%w: choose another port with %s, or 0 for any free port", err, flag)
}
