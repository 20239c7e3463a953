package xds

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// ConnectionError says that the server could not be reached or that the stream has
// ended. What was in use stays in use.
type ConnectionError struct {
	Target string        // as given to New
	Err    error         // why; a gRPC status if it came from there
	Wait   time.Duration // until the next attempt
}

// Error names the server, the reason and the wait. It is one line.
func (e *ConnectionError) Error() string {
	return fmt.Sprintf("configuration server %s: %s; next attempt in %v", e.Target, oneLine(e.Err.Error(), maxReason), e.Wait)
}

// Unwrap is Err.
func (e *ConnectionError) Unwrap() error { return e.Err }

// RejectedError says that an update was refused. What was in use stays in use.
type RejectedError struct {
	Version string // what the server calls the update
	Err     error  // Faults, or what Run's load returned
}

// Error names the version and, one per line, the reasons.
func (e *RejectedError) Error() string {
	return fmt.Sprintf("configuration of version '%s' is refused: %v", oneLine(e.Version, maxShown), e.Err)
}

// Unwrap is Err.
func (e *RejectedError) Unwrap() error { return e.Err }

// errConnectTimeout ends the context of a stream that could not be opened in time.
var errConnectTimeout = errors.New("timed out")

// explainOpen says why a stream could not be opened.
func (c *Client) explainOpen(ctx context.Context, err error) error {
	if context.Cause(ctx) == errConnectTimeout {
		return fmt.Errorf("no connection within %v: %w", c.opts.ConnectTimeout, err)
	}
	return err
}

// explain says why a stream has ended.
func (c *Client) explain(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("the server ended the stream")
	}
	// There is no code for this alone: a server may use ResourceExhausted as well.
	s := status.Convert(err)
	if s.Code() == codes.ResourceExhausted && strings.Contains(s.Message(), "larger than max") {
		return fmt.Errorf("a response is longer than %d bytes: raise XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES (Options.MaxMessageBytes): %w",
			c.opts.MaxMessageBytes, err)
	}
	return err
}
