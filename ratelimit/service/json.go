package service

import (
	"bytes"
	"cmp"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/internal/suggest"
)

// JSON returns the handler of POST /json: requests and responses in the proto3 JSON mapping,
// with any Content-Type. It may be mounted at any path. Status codes:
//
//	200  no limit is exceeded
//	400  the body is not a valid request
//	403  a web page of another origin sent the request
//	405  not a POST
//	408  the body did not arrive in time
//	413  the body is longer than Options.MaxBodyBytes
//	415  the body has a Content-Encoding
//	429  a limit is exceeded; the body is the decision, as with 200
//	500  an over-limit cache or statistics panicked
//	503  no configuration is loaded, the counter store failed, Options.MaxConcurrent, or the
//	     budget of the chain (httpx.Budget) is used up
//	504  Options.Timeout
//
// Error bodies are {"status":"error","message":"..."}.
func (s *Service) JSON() http.Handler {
	origins, _ := httpx.NewOrigins(nil) // can't fail for an empty list
	return origins.Protect(httpx.HandlerFunc(s.serveJSON))
}

func (s *Service) serveJSON(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return httpx.Errorf(http.StatusMethodNotAllowed, "use POST with a JSON body")
	}
	in, err := s.readJSON(r)
	if err != nil {
		return err
	}
	ctx := r.Context()
	if s.opts.Spans != nil {
		var end func(error)
		ctx, end = s.opts.Spans.StartSpan(ctx, jsonSpan, func() []slog.Attr { return nil })
		defer func() { end(err) }()
	}
	reserving := s.reserving(r.Header.Get)
	out, err := s.decide(ctx, in, reserving)
	if err != nil {
		o, message := classify(err)
		return httpx.Errorf(o.http, "%s", message)
	}
	body, err := protojson.Marshal(out)
	var compact bytes.Buffer
	if err = cmp.Or(err, json.Compact(&compact, body)); err != nil { // protojson adds random white space
		return err
	}
	code := http.StatusOK
	if out.GetOverallCode() == ratelimitv3.RateLimitResponse_OVER_LIMIT {
		code = http.StatusTooManyRequests
	}
	if reserving != nil && reserving.value != "" {
		w.Header().Set(reserving.name, reserving.value)
	}
	w.Header().Set("X-Content-Type-Options", "nosniff")
	return httpx.WriteBytes(w, code, "application/json", compact.Bytes())
}

// objectBytes estimates what decoding allocates for an object besides its text.
const objectBytes = 160

// readJSON returns the request, or an error with its status.
func (s *Service) readJSON(r *http.Request) (*ratelimitv3.RateLimitRequest, error) {
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return nil, httpx.Errorf(http.StatusUnsupportedMediaType, "Content-Encoding is %q: send the body without encoding", printable.Truncate(encoding, 100))
	}
	body, err := httpx.ReadBody(r, s.opts.MaxBodyBytes)
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, badBody(`request body is empty: send {"domain": ..., "descriptors": [{"entries": [{"key": ..., "value": ...}]}]}`)
	}
	// Objects are allocated by decoding.
	objects, most := bytes.Count(body, []byte("{")), partsPerDescriptor*s.bounds.maxDescriptors
	if objects > most {
		return nil, badBody("request body has too many objects: use at most %d", most)
	}
	if err := httpx.Reserve(r.Context(), int64(2*len(body)+objectBytes*objects)); err != nil {
		return nil, err
	}
	in := &ratelimitv3.RateLimitRequest{}
	if err := protojson.Unmarshal(body, in); err != nil {
		return nil, badBody("request body is not a rate limit request: %s", jsonReason(err))
	}
	return in, nil
}

func badBody(format string, args ...any) error {
	return httpx.Errorf(http.StatusBadRequest, format, args...)
}

// jsonReason returns the decoder's message without its prefix and its random non-breaking
// spaces. To an unknown field it adds the one that was probably meant.
func jsonReason(err error) string {
	reason := strings.TrimPrefix(strings.ReplaceAll(err.Error(), "\u00a0", " "), "proto: ")
	_, name, unknown := strings.Cut(reason, "unknown field ")
	if !unknown {
		return reason
	}
	if meant := suggest.Among(strings.Trim(name, `"`), fieldNames((&ratelimitv3.RateLimitRequest{}).ProtoReflect().Descriptor(), nil)); meant != "" {
		reason += ": did you mean " + strconv.Quote(meant) + "?"
	}
	return reason
}

// fieldNames adds the JSON names of the fields of a message, and of the messages in it, to names.
func fieldNames(message protoreflect.MessageDescriptor, names []string) []string {
	for i := range message.Fields().Len() {
		field := message.Fields().Get(i)
		if slices.Contains(names, field.JSONName()) {
			continue
		}
		names = append(names, field.JSONName())
		if inner := field.Message(); inner != nil {
			names = fieldNames(inner, names)
		}
	}
	return names
}
