package netbox_test

import (
	"cmp"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/inventory/netbox"
	"github.com/ashlar-go/ashlar/inventory"
)

// netBox is the API of a NetBox with some sites. Other lists are empty.
type netBox struct {
	sites    int
	requests int // that it has received
	// before, if not nil, is called with the number of each request. It reports whether it has responded.
	before func(n int, w http.ResponseWriter, r *http.Request) bool
}

// RoundTrip serves a request without a network, so that waits take no time.
func (n *netBox) RoundTrip(r *http.Request) (*http.Response, error) {
	n.requests++
	w := httptest.NewRecorder()
	if n.before == nil || !n.before(n.requests, w, r) {
		n.list(w, r)
	}
	if w.Code == 0 || w.Header().Get("Broken") != "" {
		return nil, fmt.Errorf("connection reset by %s", r.URL.Host)
	}
	return w.Result(), nil
}

func (n *netBox) list(w http.ResponseWriter, r *http.Request) {
	if strings.Count(strings.Trim(r.URL.Path, "/"), "/") == 1 { // the lists of an app
		apps := map[string]string{"/api/dcim/": `{"sites":"","virtual-chassis":"","device-bays":"","connected-device":""}`, "/api/vpn/": `{"ike-policies":""}`}
		fmt.Fprint(w, cmp.Or(apps[r.URL.Path], "{}"))
		return
	}
	count := 0
	switch {
	case strings.HasSuffix(r.URL.Path, "/sites/"):
		count = n.sites
	case strings.HasSuffix(r.URL.Path, "/device-bays/"), strings.HasSuffix(r.URL.Path, "/ike-policies/"):
		count = 3
	case strings.HasSuffix(r.URL.Path, "/mac-addresses/"):
		http.NotFound(w, r)
		return
	}
	at, _ := strconv.Atoi(r.URL.Query().Get("offset"))
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	end, next := min(at+limit, count), "null"
	if end < count {
		next = fmt.Sprintf(`"http://10.0.0.1:8001%s?limit=%d&offset=%d&ordering=%s"`, r.URL.Path, limit, end, r.URL.Query().Get("ordering"))
	}
	var results []string
	for id := at + 1; id <= end; id++ {
		if r.URL.Query().Get("ordering") == "id" {
			results = append(results, fmt.Sprintf(`{"id":%d,"name":"s%d","slug":"s%d"}`, id, id, id))
		} else {
			results = append(results, `{"id":1,"name":"s1","slug":"s1"}`) // pages overlap
		}
	}
	fmt.Fprintf(w, `{"count":%d,"next":%s,"results":[%s]}`, count, next, strings.Join(results, ","))
}

// read reads a NetBox, and returns the number of sites, and how long it took.
func (n *netBox) read(t *testing.T, token string) (x *netbox.Export, sites int, took time.Duration, err error) {
	t.Helper()
	begin := time.Now()
	x, err = netbox.Fetch(t.Context(), "https://netbox.example.org/", token, &http.Client{Transport: n})
	if err != nil {
		return nil, 0, time.Since(begin), err
	}
	for s := x.Source(inventory.Schema()); ; sites++ {
		if _, err := s.Next(); err != nil {
			return x, sites, time.Since(begin), nil
		}
	}
}

// TestPages: lists are read in the order of ids, and again if objects appear or disappear between pages. The address that
// NetBox has for itself does not matter.
func TestPages(t *testing.T) {
	t.Parallel()
	n := &netBox{sites: 1200}
	_, sites, _, err := n.read(t, "")
	require.NoError(t, err)
	require.Equal(t, 1200, sites)

	n = &netBox{sites: 1200}
	changed := 0
	n.before = func(_ int, _ http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/sites/") && r.URL.Query().Get("offset") == "1000" && changed == 0 {
			changed, n.sites = 1, 1201 // one is created with an id that has been read
			r.URL.RawQuery = "limit=500&offset=1001&ordering=id"
		}
		return false
	}
	_, sites, _, err = n.read(t, "")
	require.NoError(t, err)
	require.Equal(t, 1201, sites)

	n.before = func(_ int, w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/sites/") {
			return false
		}
		fmt.Fprint(w, `{"count":2,"next":null,"results":[{"id":1,"slug":"s1"}]}`)
		return true
	}
	_, _, _, err = n.read(t, "")
	require.ErrorContains(t, err, "dcim/sites")
}

// TestRetry: Fetch waits as a NetBox says that limits the rate, and reads on if it is away for a while.
func TestRetry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := &netBox{sites: 3, before: func(n int, w http.ResponseWriter, _ *http.Request) bool {
			switch n {
			case 2:
				w.Header().Set("Retry-After", "70")
				w.WriteHeader(http.StatusTooManyRequests)
			case 4, 5:
				w.WriteHeader(http.StatusServiceUnavailable)
			case 7:
				w.Header().Set("Broken", "yes")
			case 9:
				w.Header().Set("Content-Length", "100")
				fmt.Fprint(w, `{"count":`)
			default:
				return false
			}
			return true
		}}
		_, sites, took, err := n.read(t, "")
		require.NoError(t, err)
		require.Equal(t, 3, sites)
		require.Greater(t, took, 70*time.Second)
		require.Less(t, took, 80*time.Second)

		n = &netBox{sites: 3, before: func(n int, w http.ResponseWriter, _ *http.Request) bool {
			if n > 10 {
				w.Header().Set("Broken", "yes")
			}
			return n > 10
		}}
		_, _, took, err = n.read(t, "nbt_key.secret")
		require.ErrorContains(t, err, "connection reset")
		require.NotContains(t, err.Error(), "secret")
		require.Less(t, took, time.Minute)
	})
}

// TestTokens: a token of version 2 is sent as Bearer, others as Token.
func TestTokens(t *testing.T) {
	t.Parallel()
	for token, want := range map[string]string{"nbt_key.secret": "Bearer nbt_key.secret", "0123abcd": "Token 0123abcd", "": ""} {
		n := &netBox{before: func(_ int, _ http.ResponseWriter, r *http.Request) bool {
			require.Equal(t, want, r.Header.Get("Authorization"))
			return false
		}}
		x, _, _, err := n.read(t, token)
		require.NoError(t, err)
		text := fmt.Sprint(x.Unplaced())
		require.Equal(t, "[{dcim/device-bays 3} {vpn/ike-policies 3}]", text, "what is not read is counted")
	}
	n := &netBox{before: func(_ int, w http.ResponseWriter, r *http.Request) bool { http.NotFound(w, r); return true }}
	_, _, _, err := n.read(t, "")
	require.ErrorContains(t, err, "404")
}
