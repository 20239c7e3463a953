package xds

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/ashlar-go/ashlar/internal/backoff"
)

// stream is one stream of discovery requests and responses.
type stream struct {
	*run
	ads      discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesClient
	received bool // there was a response
	foreign  bool // and one of another type
}

// pause is the least time between two responses: a server that sends without an end does not keep the process busy.
const pause = 100 * time.Millisecond

// follow subscribes to the configuration and handles responses until the stream ends.
func (s *stream) follow() error {
	err := s.send("", nil)
	for err == nil {
		var in *discoveryv3.DiscoveryResponse
		if in, err = s.ads.Recv(); err == nil {
			next := time.Now().Add(pause)
			if err = s.handle(in); err == nil && s.rejections == 0 { // which have a delay of their own
				err = backoff.Sleep(s.ads.Context(), time.Until(next))
			}
		}
	}
	if errors.Is(err, io.EOF) {
		return errors.New("the server ended the stream")
	}
	// A server may use ResourceExhausted too, so the message decides.
	if st := status.Convert(err); st.Code() == codes.ResourceExhausted && strings.Contains(st.Message(), "larger than max") {
		return fmt.Errorf("a response is longer than %d bytes: raise XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES (Options.MaxMessageBytes): %w",
			s.opts.MaxMessageBytes, err)
	}
	return err
}

// handle loads a response and acknowledges or rejects it.
func (s *stream) handle(in *discoveryv3.DiscoveryResponse) error {
	// An empty type can only be the requested one. Other types are ignored: servers take
	// a rejection as a subscription.
	if url := in.GetTypeUrl(); url != "" && !isType(url) {
		if !s.foreign {
			s.opts.Log.Warn("responses of the stream are ignored: their type was not requested", "type", fmt.Sprintf("%.100s", url))
		}
		s.foreign = true
		return nil
	}
	s.received = true
	// Some servers send a response that was used in part again after each rejection.
	last := s.inPart
	if last != nil && last.GetVersionInfo() == in.GetVersionInfo() &&
		slices.EqualFunc(last.GetResources(), in.GetResources(), func(a, b *anypb.Any) bool { return proto.Equal(a, b) }) {
		return s.reject(in, s.inPartErrs)
	}
	var u *Update
	var use []resource
	var err error
	if s.opts.Strict {
		u, err = Parse(in.GetResources(), &s.opts)
	} else {
		u, use, err = s.partial(in)
	}
	if err == nil {
		u.Version = in.GetVersionInfo()
		err = s.load(u)
	}
	if err != nil {
		return s.reject(in, &RejectedError{Version: in.GetVersionInfo(), Err: err})
	}
	s.inUse, s.inPart, s.inPartErrs = use, nil, nil
	if len(u.Faults) > 0 {
		s.inPart, s.inPartErrs = in, &RejectedError{Version: in.GetVersionInfo(), Err: u.Faults, Partial: true}
		return s.reject(in, s.inPartErrs)
	}
	s.accepted, s.rejections, s.reported = in.GetVersionInfo(), 0, ""
	return s.send(in.GetNonce(), nil)
}

// reject reports a rejection, unless it repeats the last one, and sends it. Some servers
// respond to a rejection with the same update at once, so all but the first are delayed.
func (s *stream) reject(in *discoveryv3.DiscoveryResponse, rejected *RejectedError) error {
	if text := rejected.Error(); text != s.reported {
		s.reported = text
		s.failed(rejected)
	}
	if s.rejections > 0 {
		delays := backoff.Backoff{Initial: 100 * time.Millisecond, Max: s.opts.Backoff.Initial}
		if err := backoff.Sleep(s.ads.Context(), delays.Wait(s.rejections-1)); err != nil {
			return err
		}
	}
	s.rejections++
	return s.send(in.GetNonce(), rejected.Err)
}

// send requests what follows the version in use. With the nonce of a response it
// acknowledges the response, or rejects it for a reason.
func (s *stream) send(nonce string, reason error) error {
	out := &discoveryv3.DiscoveryRequest{
		Node:          s.node,
		VersionInfo:   s.accepted,
		TypeUrl:       TypeURL,
		ResponseNonce: nonce,
	}
	if reason != nil {
		out.ErrorDetail = status.New(codes.InvalidArgument, detail(reason)).Proto()
	}
	err := s.ads.Send(out)
	for errors.Is(err, io.EOF) { // the stream has ended: Recv returns the reason
		if _, err := s.ads.Recv(); err != nil {
			return err
		}
	}
	return err
}

// detail returns the text of an error for the server: at most 8 KiB, and the number of
// omitted lines.
func detail(err error) string {
	const limit = 8 << 10
	text := strings.ToValidUTF8(err.Error(), "?")
	if len(text) <= limit {
		return text
	}
	shown := text[:limit]
	if end := strings.LastIndexByte(shown, '\n'); end >= 0 {
		return fmt.Sprintf("%s\nand %d more", shown[:end], strings.Count(text[end:], "\n"))
	}
	return strings.ToValidUTF8(shown, "") + "..."
}
