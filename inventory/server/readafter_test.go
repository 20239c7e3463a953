package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/postgrestest"
	"github.com/ashlar-go/ashlar/inventory/sqlstore"
)

// TestReadAfter: while the replica does not replay, a client that sends Read-After, or a browser with the cookie, reads
// its own change at each of two servers. Afterwards it reads from the replica again.
//
// An operator sees the lag by inventory_database_replica_lag_seconds, and such reads by
// inventory_database_replica_fallbacks_total.
func TestReadAfter(t *testing.T) {
	t.Parallel()
	primary := postgrestest.Start(t)
	url := primary.Database(t)
	standby := primary.Standby()
	primary.Exec(t, "ALTER SYSTEM SET synchronous_standby_names = ''")
	primary.Exec(t, "SELECT pg_reload_conf()")
	start := func() *running {
		return serve(t, settings(t, map[string]string{"DATABASE_URL": url, "DATABASE_READ_URL": strings.Replace(url, primary.Addr(), standby.Addr(), 1)}))
	}
	first, second := start(), start()
	token := first.login("admin", password)
	for _, at := range []*running{first, second} {
		at.want(http.StatusOK, http.MethodGet, "/locations", token, "") // the first request of a session notes its time
	}
	standby.Exec(t, "SELECT pg_wal_replay_pause()")
	time.Sleep(100 * time.Millisecond) // what it has begun to replay

	res, body := first.send(http.MethodPost, "/locations", token, `{"name":"AMS"}`, "Cookie", "theme=dark")
	require.Equal(t, http.StatusCreated, res.StatusCode, body)
	after, cookie := res.Header.Get("Read-After"), res.Header.Get("Set-Cookie")
	require.NotEmpty(t, after)
	require.Contains(t, cookie, "read_after="+after)
	var created struct{ ID string }
	require.NoError(t, json.Unmarshal([]byte(body), &created))
	path := "/locations/" + created.ID
	for _, at := range []*running{first, second} {
		at.want(http.StatusNotFound, http.MethodGet, path, token, "")
		require.Contains(t, at.want(http.StatusOK, http.MethodGet, "/locations?name=AMS", token, "", "Cookie", "read_after="+after), created.ID)
		for range 20 {
			at.want(http.StatusOK, http.MethodGet, path, token, "", "Read-After", after)
		}
	}
	res, _ = second.send(http.MethodGet, path, token, "", "Read-After", after)
	require.Empty(t, res.Header.Get("Read-After"), "for a read")
	second.want(http.StatusBadRequest, http.MethodGet, path, token, "", "Read-After", "0/16B3748")
	second.want(http.StatusNotFound, http.MethodGet, path, token, "", "Cookie", "read_after=x")

	standby.Exec(t, "SELECT pg_wal_replay_resume()")
	require.Eventually(t, func() bool {
		res, _ := second.send(http.MethodGet, path, token, "")
		return res.StatusCode == http.StatusOK
	}, time.Minute, 10*time.Millisecond)
	second.want(http.StatusOK, http.MethodGet, path, token, "", "Read-After", after)
	_, before := second.srv.Store().(*sqlstore.Store).Replica()
	second.want(http.StatusOK, http.MethodGet, path, token, "", "Read-After", after)
	_, fallbacks := second.srv.Store().(*sqlstore.Store).Replica()
	require.Equal(t, before, fallbacks)
}
