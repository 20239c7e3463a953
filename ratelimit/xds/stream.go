package xds

import (
	"errors"
	"io"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// stream is one conversation with the server.
type stream struct {
	*run
	ads      adsClient
	answered bool // there was a response
}

// follow asks for the configuration and handles responses until the stream ends.
func (s *stream) follow() error {
	if err := s.send("", nil); err != nil {
		return err
	}
	for {
		in, err := s.ads.Recv()
		if err != nil {
			return err
		}
		// A server that leaves the type out can only mean the one it was asked for.
		// Other types are ignored: to refuse one would be to subscribe to it.
		if url := in.GetTypeUrl(); url != "" && !isType(url) {
			s.opts.Log.Warn("a response of a type that was not asked for is ignored", "type", oneLine(url, maxShown))
			continue
		}
		s.answered = true
		if err := s.handle(in); err != nil {
			return err
		}
	}
}

// handle puts a response to use, or not, and tells the server.
func (s *stream) handle(in *discoveryv3.DiscoveryResponse) error {
	err := s.use(in)
	if err != nil {
		return s.refuse(in, err)
	}
	s.accepted, s.refusals, s.reported = in.GetVersionInfo(), 0, ""
	return s.send(in.GetNonce(), nil)
}

func (s *stream) use(in *discoveryv3.DiscoveryResponse) error {
	u, err := Parse(in.GetResources(), &s.opts)
	if err != nil {
		return err
	}
	u.Version = in.GetVersionInfo()
	return s.load(u)
}

// refuse reports a refusal, unless it is the last one again, and sends it.
func (s *stream) refuse(in *discoveryv3.DiscoveryResponse, err error) error {
	rejected := &RejectedError{Version: in.GetVersionInfo(), Err: err}
	if text := rejected.Error(); text != s.reported {
		s.reported = text
		s.failed(rejected)
	}
	pause := refusalPause(s.refusals, s.opts.Backoff.Initial)
	s.refusals++
	if err := sleep(s.ads.Context(), pause); err != nil {
		return err
	}
	return s.send(in.GetNonce(), err)
}

// refusalPause is how long to hold a refusal back after so many in a row.
func refusalPause(refusals int, most time.Duration) time.Duration {
	if refusals == 0 {
		return 0
	}
	const first = 100 * time.Millisecond
	return min(first<<min(refusals-1, 20), most)
}

// send asks for whatever comes after the version in use. With a nonce it is the
// answer to a response: a refusal if there is an error, else an acknowledgement.
func (s *stream) send(nonce string, refused error) error {
	out := &discoveryv3.DiscoveryRequest{
		Node:          s.node,
		VersionInfo:   s.accepted,
		TypeUrl:       TypeURL,
		ResponseNonce: nonce,
	}
	if refused != nil {
		out.ErrorDetail = status.New(codes.InvalidArgument, detail(refused)).Proto()
	}
	err := s.ads.Send(out)
	if errors.Is(err, io.EOF) {
		return s.ending()
	}
	return err
}

// ending is why the stream has ended when Send says no more than that it has.
func (s *stream) ending() error {
	for {
		if _, err := s.ads.Recv(); err != nil {
			return err
		}
	}
}
