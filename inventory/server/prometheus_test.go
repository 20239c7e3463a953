package server_test

import (
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory/accounts"
	"github.com/ashlar-go/ashlar/inventory/server"
)

// TestPrometheus checks that the page has an address of its own, and that its labels are routes and
// not paths.
func TestPrometheus(t *testing.T) {
	t.Parallel()
	r := serve(t, settings(t, map[string]string{"PROMETHEUS_ADDR": "127.0.0.1:0"}))
	token := r.login("admin", password)
	r.want(201, "POST", "/locations", token, berlin)
	for range 3 {
		r.want(404, "GET", "/devices/018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f", token, "")
	}
	r.want(404, "GET", "/unknown/path", token, "")
	r.want(401, "GET", "/devices", "", "")
	r.want(401, "POST", "/users/login", "", `{"username":"admin","password":"a wrong one"}`)
	r.want(401, "GET", "/devices", accounts.TokenPrefix+strings.Repeat("A", 26), "")
	r.want(400, "DELETE", "/users", token, "[]")
	me := regexp.MustCompile(`"data":\[{"id":"([^"]+)"`).FindStringSubmatch(r.want(200, "GET", "/users", token, ""))[1]
	r.want(403, "DELETE", "/users/"+me, token, "")
	made := r.want(201, "POST", "/users/"+me+"/tokens", token, `{"name":"collector","scopes":["metrics:write"],"current_password":"`+password+`"}`)
	r.want(403, "GET", "/devices", regexp.MustCompile(`ashlar_\w+`).FindString(made), "")

	address := regexp.MustCompile(`metrics for Prometheus" url=(\S+)`)
	require.Eventually(t, func() bool { return address.MatchString(r.log.String()) }, 10*time.Second, 10*time.Millisecond)
	url := address.FindStringSubmatch(r.log.String())[1]
	response, err := r.http.Get(url)
	require.NoError(t, err)
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode, string(page))
	for _, line := range []string{
		`inventory_http_requests_total{method="GET",route="/devices/{id}",status="404"} 3`,
		`inventory_http_requests_total{method="GET",route="/devices",status="401"} 2`,
		`inventory_http_requests_total{method="POST",route="/users/login",status="200"} 1`,
		`inventory_logins_total{result="ok"} 1`,
		`inventory_logins_total{result="wrong_password"} 1`,
		`inventory_logins_total{result="throttled"} 0`,
		`inventory_api_token_uses_total{result="ok"} 1`,
		`inventory_api_token_uses_total{result="revoked"} 1`,
		`inventory_refused_requests_total{reason="no_token"} 1`,
		`inventory_refused_requests_total{reason="revoked"} 1`,
		`inventory_refused_requests_total{reason="forbidden"} 2`,
		`inventory_http_requests_total{method="other",route="other",status="404"} 1`,
		`inventory_http_request_duration_seconds_count{method="GET",route="/devices/{id}"} 3`,
		`inventory_records{resource="locations"} 1`,
		`inventory_records{resource="users"} 1`,
		`inventory_heavy_queries{state="waiting"} 0`,
		`inventory_build_info{goversion="go1`,
		`inventory_database_up 1`,
		`inventory_change_streams_max 200`,
		`inventory_mails_total{result="failed"} 0`,
		`inventory_task_failures_total{task="prune"} 0`,
		`inventory_database_connections_max{pool="writer"} 1`,
		`inventory_database_size_bytes `,
		"go_goroutines ",
	} {
		assert.Contains(t, string(page), line)
	}
	for _, m := range server.Metrics() {
		if slices.Contains([]string{"inventory_database_replica_lag_seconds", "inventory_oidc_up", "inventory_task_last_success_timestamp_seconds", "inventory_webhook_messages_total"}, m.Name) {
			continue // other tests have a replica, a provider, tasks and webhooks
		}
		assert.Contains(t, string(page), "# HELP "+m.Name+" "+m.Help+"\n")
	}
	assert.NotContains(t, string(page), "018f4c2e")
	assert.NotContains(t, string(page), "/unknown")
	// The address of the API does not serve it.
	body := r.want(200, "GET", "/metrics", token, "")
	assert.False(t, strings.Contains(body, "inventory_"), body)
}
