package service

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// JSON returns the handler of POST /json: requests and responses in the proto3 JSON mapping.
// It may be mounted at any path. Status codes:
//
//	200  no limit is exceeded
//	400  the body is not a valid request
//	405  not a POST
//	413  the body is longer than Options.MaxBodyBytes
//	429  a limit is exceeded; the body is the decision, as with 200
//	500  an over-limit cache or statistics panicked
//	503  no configuration is loaded, or the counter store failed
//
// Error bodies are {"status":"error","message":"..."}.
func (s *Service) JSON() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			writeError(w, http.StatusMethodNotAllowed, "use POST with a JSON body")
			return
		}
		in, code, err := s.readJSON(w, r)
		if err != nil {
			writeError(w, code, err.Error())
			return
		}
		ctx, end := s.startJSON(r.Context())
		out, err := s.decide(ctx, in)
		defer func() { end(err) }()
		if err != nil {
			o, message := classify(err)
			writeError(w, o.http, message)
			return
		}
		writeDecision(w, out)
	})
}

// startJSON starts the span of everything after reading the request.
func (s *Service) startJSON(ctx context.Context) (context.Context, func(error)) {
	if s.spans == nil {
		return ctx, func(error) {}
	}
	return s.spans.StartSpan(ctx, jsonSpan, func() []slog.Attr { return nil })
}

// readJSON returns the request, or an error and its status code.
func (s *Service) readJSON(w http.ResponseWriter, r *http.Request) (*ratelimitv3.RateLimitRequest, int, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.maxBody))
	if err != nil {
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			return nil, http.StatusRequestEntityTooLarge, invalid("request body is longer than %d bytes", s.maxBody)
		}
		return nil, http.StatusBadRequest, invalid("request body could not be read")
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, http.StatusBadRequest, invalid(`request body is empty: send {"domain": ..., "descriptors": [{"entries": [{"key": ..., "value": ...}]}]}`)
	}
	// Objects are what decoding allocates.
	if most := partsPerDescriptor * s.bounds.maxDescriptors; bytes.Count(body, []byte("{")) > most {
		return nil, http.StatusBadRequest, invalid("request body has too many objects: use at most %d", most)
	}
	in := &ratelimitv3.RateLimitRequest{}
	if err := protojson.Unmarshal(body, in); err != nil {
		return nil, http.StatusBadRequest, &ratelimit.Error{Kind: ratelimit.Invalid, Message: "request body is not a rate limit request: " + jsonReason(err)}
	}
	return in, 0, nil
}

// jsonReason returns the decoder's message without its prefix and its random non-breaking
// spaces.
func jsonReason(err error) string {
	return strings.TrimPrefix(strings.ReplaceAll(err.Error(), "\u00a0", " "), "proto: ")
}

func writeDecision(w http.ResponseWriter, out *ratelimitv3.RateLimitResponse) {
	body, err := protojson.Marshal(out)
	if err != nil {
		writeError(w, http.StatusInternalServerError, "the decision could not be written as JSON")
		return
	}
	// protojson adds random white space.
	var compact bytes.Buffer
	if err := json.Compact(&compact, body); err != nil {
		writeError(w, http.StatusInternalServerError, "the decision could not be written as JSON")
		return
	}
	code := http.StatusOK
	if out.GetOverallCode() == ratelimitv3.RateLimitResponse_OVER_LIMIT {
		code = http.StatusTooManyRequests
	}
	writeJSON(w, code, compact.Bytes())
}

func writeError(w http.ResponseWriter, code int, message string) {
	body, _ := json.Marshal(map[string]string{"status": "error", "message": message}) // strings never fail
	writeJSON(w, code, body)
}

func writeJSON(w http.ResponseWriter, code int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	w.Write(body)
}
