package service

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// JSON returns the handler of POST /json: the request and the answer in the
// proto3 JSON mapping. It may be mounted at any path. Status codes:
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

// startJSON starts the span of what comes after the request has been read.
func (s *Service) startJSON(ctx context.Context) (context.Context, func(error)) {
	if s.spans == nil {
		return ctx, func(error) {}
	}
	return s.spans.StartSpan(ctx, jsonSpan, func() []slog.Attr { return nil })
}

// objectsPerDescriptor bounds what a body of nothing but braces makes the decoder
// allocate.
const objectsPerDescriptor = 16

// readJSON reads the request, or says with which code it is to be refused.
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
	if most := objectsPerDescriptor * s.most; bytes.Count(body, []byte("{")) > most {
		return nil, http.StatusBadRequest, invalid("request body has more than %d objects", most)
	}
	in := &ratelimitv3.RateLimitRequest{}
	if err := protojson.Unmarshal(body, in); err != nil {
		return nil, http.StatusBadRequest, &ratelimit.Error{Kind: ratelimit.Invalid, Message: "request body is not a rate limit request: " + jsonReason(err)}
	}
	return in, 0, nil
}

// jsonReason is the decoder's own text without its package prefix and the
// non-breaking spaces that it mixes in to keep its texts from being relied on.
func jsonReason(err error) string {
	text := strings.ReplaceAll(err.Error(), "\u00a0", " ")
	return strings.TrimPrefix(text, "proto: ")
}

func writeDecision(w http.ResponseWriter, out *ratelimitv3.RateLimitResponse) {
	body, err := protojson.Marshal(out)
	if err != nil {
		writeError(w, http.StatusInternalServerError, "the decision could not be written as JSON")
		return
	}
	// The mapping's own white space differs from build to build.
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
	body, err := json.Marshal(struct {
		Status  string `json:"status"`
		Message string `json:"message"`
	}{"error", message})
	if err != nil { // a string always marshals
		body = fmt.Appendf(nil, `{"status":"error","message":%q}`, http.StatusText(code))
	}
	writeJSON(w, code, body)
}

func writeJSON(w http.ResponseWriter, code int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	w.Write(body) // the client may be gone; there is no one left to tell
}
