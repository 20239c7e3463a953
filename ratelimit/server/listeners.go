package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"
	"syscall"
)

// Addresses are where a server listens.
type Addresses struct {
	GRPC, HTTP, Debug net.Addr
	Scrape            net.Addr // nil if USE_SCRAPE is not set
}

// ListenError says that an address can't be listened on.
type ListenError struct {
	Setting string // the setting that moves the listener: GRPC_PORT, GRPC_UDS, PORT, DEBUG_PORT or SCRAPE_ADDR
	Err     error  // names the address
}

// Error names the address, the reason and the setting.
func (e *ListenError) Error() string {
	advice := "to a free port, or the host to an address of this machine"
	switch e.Setting {
	case "GRPC_UDS":
		advice = "to a path that nothing else uses, in a directory that can be written to"
	case "SCRAPE_ADDR":
		advice = "to host:port with a free port and an address of this machine"
	}
	return fmt.Sprintf("%v: set %s %s", e.Err, e.Setting, advice)
}

// Unwrap is Err.
func (e *ListenError) Unwrap() error { return e.Err }

// operations are the listeners for those who run the server, decisions those for its
// clients.
type (
	operations struct{ debug, scrape net.Listener }
	decisions  struct{ grpc, http net.Listener }
)

func (o *operations) scrapeAddr() net.Addr {
	if o.scrape == nil {
		return nil
	}
	return o.scrape.Addr()
}

// openOperations opens all of them or none.
func (s *Server) openOperations(ctx context.Context) (*operations, error) {
	debug, err := listen(ctx, s.settings.DebugHost, s.settings.DebugPort, "DEBUG_PORT")
	if err != nil {
		return nil, err
	}
	o := &operations{debug: debug}
	if s.scrape == nil {
		return o, nil
	}
	if o.scrape, err = listenOn(ctx, "tcp", s.settings.ScrapeAddr, "SCRAPE_ADDR"); err != nil {
		debug.Close()
		return nil, err
	}
	return o, nil
}

// unlessEnded is why a listener could not be opened, unless ctx had ended: then nobody
// waits for one.
func unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// openDecisions opens both or none.
func (s *Server) openDecisions(ctx context.Context) (*decisions, error) {
	g, err := s.listenGRPC(ctx)
	if err != nil {
		return nil, err
	}
	h, err := listen(ctx, s.settings.Host, s.settings.Port, "PORT")
	if err != nil {
		g.Close()
		return nil, err
	}
	return &decisions{g, h}, nil
}

// tryDecisions opens both and closes them again. That an address is taken or not of this
// machine is told at the start, and not when there is a configuration at last.
func (s *Server) tryDecisions(ctx context.Context) error {
	d, err := s.openDecisions(ctx)
	if err != nil {
		return err
	}
	return errors.Join(d.grpc.Close(), d.http.Close())
}

func (s *Server) listenGRPC(ctx context.Context) (net.Listener, error) {
	path := s.settings.GRPCUDS
	if path == "" {
		return listen(ctx, s.settings.GRPCHost, s.settings.GRPCPort, "GRPC_PORT")
	}
	if err := removeStale(path); err != nil {
		return nil, &ListenError{Setting: "GRPC_UDS", Err: err}
	}
	return listenOn(ctx, "unix", path, "GRPC_UDS")
}

// removeStale removes a socket that a server left behind when it was killed: one that
// nobody answers at. Nothing else is ever removed.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode()&fs.ModeSocket == 0:
		return fmt.Errorf("%s exists and is not a socket", path)
	}
	conn, err := net.Dial("unix", path)
	if err == nil {
		conn.Close()
		return fmt.Errorf("another process listens on %s", path)
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return err
	}
	return os.Remove(path)
}

func listen(ctx context.Context, host string, port int, setting string) (net.Listener, error) {
	return listenOn(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)), setting)
}

func listenOn(ctx context.Context, network, address, setting string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, network, address)
	if err != nil {
		return nil, &ListenError{Setting: setting, Err: err}
	}
	return l, nil
}
