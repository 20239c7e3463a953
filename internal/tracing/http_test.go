package tracing_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/baggage"
	wire "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/ashlar-go/ashlar/internal/tracing"
)

func respond(status int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if status != 0 {
			w.WriteHeader(status)
		}
		_, _ = io.WriteString(w, "body")
	})
}

func TestHTTPSpans(t *testing.T) {
	mux := func(tr *tracing.Tracing, pattern string, status int) http.Handler {
		m := http.NewServeMux()
		m.Handle(pattern, tr.HTTP(respond(status)))
		return m
	}
	around := func(tr *tracing.Tracing, pattern string, status int) http.Handler {
		m := http.NewServeMux()
		m.Handle(pattern, respond(status))
		return tr.HTTP(m)
	}
	none := func(tr *tracing.Tracing, _ string, status int) http.Handler { return tr.HTTP(respond(status)) }
	for _, c := range []struct {
		name    string
		build   func(*tracing.Tracing, string, int) http.Handler
		pattern string
		method  string
		status  int
		span    string
		failed  bool
	}{
		{"within a mux", mux, "/json", "POST", 200, "POST /json", false},
		{"around a mux", around, "/json", "POST", 200, "POST /json", false},
		{"pattern with method and host", mux, "POST example.com/json", "POST", 200, "POST /json", false},
		{"no mux", none, "", "POST", 200, "POST", false},
		{"no status written", mux, "/json", "POST", 0, "POST /json", false},
		{"over limit", mux, "/json", "POST", 429, "POST /json", false},
		{"store failed", mux, "/json", "POST", 503, "POST /json", true},
		{"unknown method", none, "", "BREW", 405, "HTTP", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := receive(t, "http")
			tr := start(t, 1, nil)
			w := httptest.NewRecorder()
			c.build(tr, c.pattern, c.status).ServeHTTP(w, httptest.NewRequest(c.method, "http://example.com/json?a=b", nil))
			flush(t, tr)
			want := max(c.status, 200)
			assert.Equal(t, want, w.Code)
			assert.Equal(t, "body", w.Body.String())
			s := r.named(t, c.span)
			assert.Equal(t, wire.Span_SPAN_KIND_SERVER, s.GetKind())
			assert.Equal(t, int64(want), s.attrs["http.response.status_code"])
			assert.Equal(t, "/json", s.attrs["url.path"])
			assert.Equal(t, c.failed, s.failed())
		})
	}
}

func TestHTTPPanicPassesThrough(t *testing.T) {
	r := receive(t, "http")
	tr := start(t, 1, nil)
	h := tr.HTTP(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	assert.PanicsWithValue(t, http.ErrAbortHandler, func() {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
	})
	flush(t, tr)
	assert.True(t, r.named(t, "GET").failed())
}

func TestHTTPWriterSupportsFlush(t *testing.T) {
	receive(t, "http")
	tr := start(t, 1, nil)
	h := tr.HTTP(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusEarlyHints)
		w.(http.Flusher).Flush()
		assert.NoError(t, http.NewResponseController(w).Flush())
	}))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	assert.True(t, w.Flushed)
}

// A path that is not UTF-8 or very long must not fail the batch.
func TestHTTPUnusualPaths(t *testing.T) {
	r := receive(t, "http")
	tr := start(t, 1, nil)
	for _, path := range []string{"/%ff%fe", "/" + strings.Repeat("p", 100_000)} {
		tr.HTTP(respond(404)).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil))
	}
	flush(t, tr)
	spans := r.all()
	require.Len(t, spans, 2)
	assert.Equal(t, "/\uFFFD", spans[0].attrs["url.path"])
	assert.Len(t, spans[1].attrs["url.path"], tracing.MaxText)
}

const (
	traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
	spanID  = "00f067aa0ba902b7"
	otherID = "0af7651916cd43dd8448eb211c80319c"
)

// carriers lists the ways in which a caller can send its trace.
var carriers = []struct {
	name    string
	headers map[string]string
	trace   string // empty if a new one begins
	sampled bool
}{
	{"none", nil, "", true},
	{"W3C", map[string]string{"traceparent": "00-" + traceID + "-" + spanID + "-01"}, traceID, true},
	{"W3C not sampled", map[string]string{"traceparent": "00-" + traceID + "-" + spanID + "-00"}, traceID, false},
	{"W3C malformed", map[string]string{"traceparent": "00-" + traceID + "-xyz-01"}, "", true},
	{"B3 single", map[string]string{"b3": traceID + "-" + spanID + "-1"}, traceID, true},
	{"B3 single not sampled", map[string]string{"b3": traceID + "-" + spanID + "-0"}, traceID, false},
	{"B3 single malformed", map[string]string{"b3": "1-2-3"}, "", true},
	{"B3 multiple", map[string]string{"x-b3-traceid": traceID, "x-b3-spanid": spanID, "x-b3-sampled": "1"}, traceID, true},
	{"B3 multiple not sampled", map[string]string{"x-b3-traceid": traceID, "x-b3-spanid": spanID, "x-b3-sampled": "0"}, traceID, false},
	{"B3 debug", map[string]string{"x-b3-traceid": traceID, "x-b3-spanid": spanID, "x-b3-flags": "1"}, traceID, true},
	{"B3 of 64 bits", map[string]string{"b3": traceID[16:] + "-" + spanID + "-1"}, strings.Repeat("0", 16) + traceID[16:], true},
	{
		"W3C and B3",
		map[string]string{"traceparent": "00-" + traceID + "-" + spanID + "-01", "b3": otherID + "-" + spanID + "-0"},
		traceID, true,
	},
}

func TestHTTPContinuesTheCallersTrace(t *testing.T) {
	for _, c := range carriers {
		t.Run(c.name, func(t *testing.T) {
			r := receive(t, "http")
			tr := start(t, 1, nil)
			req := httptest.NewRequest(http.MethodPost, "/json", nil)
			for name, value := range c.headers {
				req.Header.Set(name, value)
			}
			tr.HTTP(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				_, end := tr.StartSpan(r.Context(), "within", nil)
				end(nil)
			})).ServeHTTP(httptest.NewRecorder(), req)
			flush(t, tr)
			checkContinued(t, r, "POST", c.trace, c.sampled)
		})
	}
}

// checkContinued checks a server's span and the one called "within" below it.
func checkContinued(t *testing.T, r *receiver, server, trace string, sampled bool) {
	t.Helper()
	if !sampled {
		assert.Empty(t, r.all())
		return
	}
	outer, inner := r.named(t, server), r.named(t, "within")
	assert.Equal(t, outer.id(), inner.parent())
	assert.Equal(t, outer.trace(), inner.trace())
	if trace == "" {
		assert.Empty(t, outer.parent())
		return
	}
	assert.Equal(t, trace, outer.trace())
	assert.Equal(t, spanID, outer.parent())
}

func TestBaggage(t *testing.T) {
	receive(t, "http")
	tr := start(t, 1, nil)
	for _, c := range []struct {
		name   string
		values []string
		want   map[string]string
	}{
		{"none", nil, map[string]string{}},
		{"one header", []string{"tenant=a,tier=b%20c;p=1"}, map[string]string{"tenant": "a", "tier": "b c"}},
		{"two headers", []string{"tenant=a", "tier=b"}, map[string]string{"tenant": "a", "tier": "b"}},
		{"malformed", []string{"="}, map[string]string{}},
		{"malformed in part", []string{"tenant=a,=,b"}, map[string]string{"tenant": "a"}},
		{"too long", []string{"tenant=a", "x=" + strings.Repeat("x", 8192)}, map[string]string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			req := httptest.NewRequest(http.MethodPost, "/json", nil)
			req.Header["Baggage"] = c.values
			got := map[string]string{}
			tr.HTTP(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				for _, m := range baggage.FromContext(r.Context()).Members() {
					got[m.Key()] = m.Value()
				}
			})).ServeHTTP(httptest.NewRecorder(), req)
			assert.Equal(t, c.want, got)
		})
	}
}

func TestPropagatorsWriteHeaders(t *testing.T) {
	receive(t, "http")
	tr := start(t, 1, nil)
	member, err := baggage.NewMember("tenant", "a")
	require.NoError(t, err)
	bag, err := baggage.New(member)
	require.NoError(t, err)
	header := http.Header{}
	tr.Propagators().Inject(baggage.ContextWithBaggage(remote(true), bag), carrier{header})
	const trace, span = "01000000000000000000000000000000", "0200000000000000"
	assert.Equal(t, "00-"+trace+"-"+span+"-01", header.Get("traceparent"))
	assert.Equal(t, trace+"-"+span+"-1", header.Get("b3"))
	assert.Equal(t, "tenant=a", header.Get("baggage"))
}

// carrier supports only single values.
type carrier struct{ http.Header }

// Keys implements propagation.TextMapCarrier.
func (c carrier) Keys() []string { return nil }

func FuzzHeaders(f *testing.F) {
	for _, c := range carriers {
		f.Add(c.headers["traceparent"], c.headers["b3"], c.headers["x-b3-traceid"], "a=b", "v=1")
	}
	receive(f, "http")
	tr := start(f, 0, nil)
	f.Fuzz(func(t *testing.T, parent, b3, id, bag, state string) {
		req := httptest.NewRequest(http.MethodPost, "/json", nil)
		for name, value := range map[string]string{
			"Traceparent": parent, "Tracestate": state, "B3": b3, "X-B3-Traceid": id, "X-B3-Spanid": spanID, "Baggage": bag,
		} {
			req.Header[name] = []string{value}
		}
		w := httptest.NewRecorder()
		tr.HTTP(respond(200)).ServeHTTP(w, req)
		assert.Equal(t, "body", w.Body.String())
	})
}
