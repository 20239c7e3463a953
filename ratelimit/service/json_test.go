package service_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/service"
)

const askJSON = `{"domain":"d","descriptors":[{"entries":[{"key":"client","value":"a"}]}]}`

func post(h http.Handler, body string) *httptest.ResponseRecorder {
	return send(h, http.MethodPost, body, nil)
}

// send sends JSON, unless headers say otherwise.
func send(h http.Handler, method, body string, headers map[string]string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "/json", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestDecisionsAsJSON(t *testing.T) {
	h := service.New(newEngine(t, nil, nil), nil).JSON()
	steps := []struct {
		code int
		body string
	}{
		{200, `{"overallCode":"OK","statuses":[{"code":"OK","currentLimit":{"requestsPerUnit":2,"unit":"MINUTE","name":"per-client"},"limitRemaining":1,"durationUntilReset":"45s"}]}`},
		{200, `{"overallCode":"OK","statuses":[{"code":"OK","currentLimit":{"requestsPerUnit":2,"unit":"MINUTE","name":"per-client"},"durationUntilReset":"45s"}]}`},
		{429, `{"overallCode":"OVER_LIMIT","statuses":[{"code":"OVER_LIMIT","currentLimit":{"requestsPerUnit":2,"unit":"MINUTE","name":"per-client"},"durationUntilReset":"45s"}]}`},
	}
	for i, s := range steps {
		w := post(h, askJSON)
		require.Equal(t, s.code, w.Code, "call %d", i)
		require.JSONEq(t, s.body, w.Body.String(), "call %d", i)
		require.NotContains(t, w.Body.String(), " ", "the body has one form, without white space")
		require.Equal(t, "application/json", w.Header().Get("Content-Type"))
	}
}

// JSON requests may have both styles of names, enumerations by name or number, and 64-bit
// numbers as string or number.
func TestJSONMapping(t *testing.T) {
	bodies := []string{
		`{"domain":"d","hitsAddend":2,"descriptors":[{"entries":[{"key":"client","value":"%"}],"limit":{"requestsPerUnit":9,"unit":"HOUR"},"hitsAddend":"3"}]}`,
		`{"domain":"d","hits_addend":2,"descriptors":[{"entries":[{"key":"client","value":"%"}],"limit":{"requests_per_unit":9,"unit":3},"hits_addend":3}]}`,
	}
	for i, body := range bodies {
		h := service.New(newEngine(t, nil, nil), nil).JSON()
		w := post(h, body)
		require.Equal(t, 200, w.Code, "body %d: %s", i, w.Body)
		require.JSONEq(t, `{"overallCode":"OK","statuses":[{"code":"OK","currentLimit":{"requestsPerUnit":9,"unit":"HOUR"},"limitRemaining":6,"durationUntilReset":"3585s"}]}`, w.Body.String(), "body %d", i)
	}
}

func TestNegativeHitsAsJSON(t *testing.T) {
	h := service.New(newEngine(t, nil, nil), nil).JSON()
	const refund = `{"domain":"d","descriptors":[{"entries":[{"key":"client","value":"a"}],"hitsAddend":"5","isNegativeHits":true}]}`
	for i, step := range []struct {
		body string
		code int
	}{{askJSON, 200}, {askJSON, 200}, {askJSON, 429}, {refund, 200}, {askJSON, 200}, {askJSON, 200}, {askJSON, 429}} {
		require.Equal(t, step.code, post(h, step.body).Code, "call %d", i)
	}
}

// Errors and their HTTP statuses (REFERENCE.md, 8.5).
func TestErrorsAsJSON(t *testing.T) {
	ready := newEngine(t, nil, nil)
	cases := []struct {
		name    string
		engine  *ratelimit.Engine
		method  string
		body    string
		code    int
		message string // a part of it
	}{
		{"get", ready, "GET", "", 405, "use POST"},
		{"put", ready, "PUT", askJSON, 405, "use POST"},
		{"empty", ready, "POST", " \n", 400, "request body is empty"},
		{"no JSON", ready, "POST", "{", 400, "unexpected EOF"},
		{"not an object", ready, "POST", "[]", 400, "not a rate limit request"},
		{"unknown field", ready, "POST", `{"domain":"d","colour":"red"}`, 400, `unknown field "colour"`},
		{"wrong type", ready, "POST", `{"domain":7}`, 400, "(line 1:11)"},
		{"trailing data", ready, "POST", askJSON + "{}", 400, "not a rate limit request"},
		{"too long", ready, "POST", `{"domain":"` + strings.Repeat("x", 2000) + `"}`, 413, "send at most 1000 bytes"},
		{"half of a surrogate pair", ready, "POST", `{"domain":"\ud800","descriptors":[{}]}`, 400, "not a rate limit request"},
		{"surrogates in reverse", ready, "POST", `{"domain":"\udc00\ud800x","descriptors":[{}]}`, 400, "invalid escape code"},
		{"no domain", ready, "POST", `{}`, 400, "domain"},
		{"no descriptors", ready, "POST", `{"domain":"d"}`, 400, "descriptor list"},
		{"null parts", ready, "POST", `{"domain":"d","descriptors":null}`, 400, "descriptor list"},
		{"bad unit", ready, "POST", `{"domain":"d","descriptors":[{"limit":{"unit":"FORTNIGHT"}}]}`, 400, "FORTNIGHT"},
		{"unit number", ready, "POST", `{"domain":"d","descriptors":[{"limit":{"unit":99}}]}`, 400, "descriptors[0].limit.unit: "},
		{"no rules", ratelimit.MustNew(storeFunc(failing), nil), "POST", askJSON, 503, "configuration"},
		{"store panics", newEngine(t, storeFunc(func(context.Context, []ratelimit.Hit) error { panic("hunter2") }), nil), "POST", askJSON, 503, "store failed"},
		{"cache panics", newEngine(t, nil, &ratelimit.Options{OverLimitCache: panickingCache{}}), "POST", askJSON, 500, "internal error"},
		{"store down", newEngine(t, storeFunc(failing), nil), "POST", askJSON, 503, "store failed"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h := service.New(c.engine, &service.Options{MaxBodyBytes: 1000}).JSON()
			w := send(h, c.method, c.body, nil)
			require.Equal(t, c.code, w.Code, w.Body.String())
			var body struct{ Status, Message string }
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &body))
			require.Equal(t, "error", body.Status)
			require.Contains(t, body.Message, c.message)
			require.NotContains(t, body.Message, "hunter2")
			require.NotContains(t, body.Message, "\u00a0")
			if c.code == http.StatusMethodNotAllowed {
				require.Equal(t, "POST", w.Header().Get("Allow"))
			}
		})
	}
}

// Requests of web pages are accepted from the page's own origin only. The Content-Type does not matter:
// scripts send what their tool sends by default, or none.
func TestJSONFromWebPages(t *testing.T) {
	h := service.New(newEngine(t, nil, nil), nil).JSON()
	for _, c := range []struct {
		headers map[string]string
		code    int
		message string
	}{
		{map[string]string{"Content-Type": "application/json; charset=utf-8"}, 200, ""},
		{map[string]string{"Origin": "http://example.com", "Sec-Fetch-Site": "same-origin"}, 200, ""}, // the host of the request
		{map[string]string{"Content-Type": ""}, 200, ""},
		{map[string]string{"Content-Type": "text/plain"}, 200, ""},
		{map[string]string{"Content-Type": "a/b/c;;"}, 200, ""},
		{map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, 200, ""},
		{map[string]string{"Content-Type": "text/plain", "Origin": "http://evil.example"}, 403, "origin http://evil.example"},
		{map[string]string{"Content-Type": "text/plain", "Origin": "null"}, 403, "origin null"},
		{map[string]string{"Content-Type": "text/plain", "Sec-Fetch-Site": "cross-site"}, 403, "cross-site"},
		{map[string]string{"Content-Encoding": "gzip"}, 415, "without encoding"},
		{map[string]string{"Origin": "http://evil.example"}, 403, "origin http://evil.example"},
		{map[string]string{"Sec-Fetch-Site": "cross-site"}, 403, "cross-site"},
	} {
		w := send(h, http.MethodPost, strings.Replace(askJSON, `"a"`, `"free"`, 1), c.headers)
		require.Equal(t, c.code, w.Code, "%v: %s", c.headers, w.Body)
		if c.message != "" {
			var body struct{ Status, Message string }
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &body))
			require.Equal(t, "error", body.Status)
			require.Contains(t, body.Message, c.message)
		}
	}
}

// FuzzJSON checks that the response to any body has a documented status and a JSON body.
func FuzzJSON(f *testing.F) {
	f.Add([]byte(askJSON))
	f.Add([]byte(`{"domain":"d","descriptors":[null,{"entries":[null]},{"limit":null,"hitsAddend":null}]}`))
	f.Add([]byte(`{"domain":"d","descriptors":[{"limit":{"requestsPerUnit":4294967295,"unit":7,"unitMultiplier":2},"isNegativeHits":true,"hitsAddend":"18446744073709551615"}]}`))
	f.Add([]byte(strings.Repeat("[", 10000)))
	h := service.New(newEngine(f, nil, nil), &service.Options{MaxBodyBytes: 64 << 10}).JSON()
	codes := []int{200, 400, 413, 429}
	f.Fuzz(func(t *testing.T, body []byte) {
		w := post(h, string(body))
		if !slices.Contains(codes, w.Code) {
			t.Fatalf("status %d, body %s", w.Code, w.Body)
		}
		if !json.Valid(w.Body.Bytes()) {
			t.Fatalf("the response is not JSON: %s", w.Body)
		}
	})
}
