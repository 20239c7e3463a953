// Package netboxtest starts a NetBox for tests.
package netboxtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/postgrestest"
	"github.com/ashlar-go/ashlar/internal/redistest"
	"github.com/ashlar-go/ashlar/internal/servertest"
)

// NetBox is a NetBox that runs until the test ends.
type NetBox struct {
	t     *testing.T
	URL   string
	Token string
}

// netBoxConfiguration is its configuration.py: a page has up to 50 objects.
const netBoxConfiguration = `
ALLOWED_HOSTS = ['*']
DATABASES = {'default': {'NAME': 'netbox', 'USER': 'postgres', 'PASSWORD': '', 'HOST': %q, 'PORT': %q}}
REDIS = {name: {'HOST': %q, 'PORT': %s, 'DATABASE': 0} for name in ('tasks', 'caching')}
SECRET_KEY = 'only-for-tests-only-for-tests-only-for-tests-only-for-tests'
API_TOKEN_PEPPERS = {1: 'only-for-tests-only-for-tests-only-for-tests-only-for-tests'}
CENSUS_REPORTING_ENABLED = False
MAX_PAGE_SIZE = 50
`

// netBoxTables creates the tables, from the models instead of by hundreds of migrations, which takes seconds instead of
// minutes. What models do not say (extensions, collations and triggers) is created by the operations of the migrations.
const netBoxTables = `
import django
django.setup()
from django.apps import apps
from django.conf import settings
from django.contrib.postgres.operations import CreateCollation, CreateExtension
from django.core.management import call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ProjectState
from utilities.ltree import InstallLtreeTriggers
from utilities.migration import InstallDenormalizationTrigger

migrations = sorted(MigrationLoader(connection).disk_migrations.items())

def perform(*kinds):
    with connection.schema_editor() as editor:
        for (app, _), migration in migrations:
            for operation in migration.operations:
                if isinstance(operation, kinds):
                    operation.database_forwards(app, editor, ProjectState(), ProjectState())

perform(CreateExtension, CreateCollation)
settings.MIGRATION_MODULES = {app.label: None for app in apps.get_app_configs()}
call_command('migrate', run_syncdb=True)
perform(InstallLtreeTriggers, InstallDenormalizationTrigger)
call_command('createsuperuser', interactive=False, username='admin', email='admin@example.org')
`

// Start starts the NetBox of the virtual environment that ASHLAR_NETBOX names, with an empty database. Without it
// the test is skipped, or fails if ASHLAR_REQUIRE_SERVICES is 1.
func Start(t *testing.T) *NetBox {
	t.Helper()
	dir := os.Getenv("ASHLAR_NETBOX")
	if dir == "" {
		what := "NOT TESTED against a NetBox: ASHLAR_NETBOX, a virtual environment that has one, is not set"
		require.NotEqual(t, "1", os.Getenv("ASHLAR_REQUIRE_SERVICES"), what)
		t.Skip(what)
	}
	postgres, redis := postgrestest.Start(t, "timezone=UTC", "datestyle=ISO, MDY"), redistest.Start(t, nil)
	host, port, err := net.SplitHostPort(postgres.Addr())
	require.NoError(t, err)
	redisHost, redisPort, err := net.SplitHostPort(redis.Addr)
	require.NoError(t, err)
	postgres.Exec(t, "CREATE DATABASE netbox")
	root := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, "conf"), 0o700))
	configuration := fmt.Sprintf(netBoxConfiguration, host, port, redisHost, redisPort)
	require.NoError(t, os.WriteFile(filepath.Join(root, "conf", "configuration.py"), []byte(configuration), 0o600))
	environ := append(os.Environ(), "NETBOX_ROOT="+root, "DJANGO_SETTINGS_MODULE=netbox.settings", "DJANGO_SUPERUSER_PASSWORD=correct-horse-battery-1")
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	tables := exec.CommandContext(ctx, filepath.Join(dir, "bin", "python"), "-c", netBoxTables) // #nosec G204 G702 -- the installation that the test names
	tables.Env = environ
	out, err := tables.CombinedOutput()
	require.NoError(t, err, string(out))
	server := servertest.StartWith(t, filepath.Join(dir, "bin", "gunicorn"), func(port string) []string {
		return []string{"netbox.wsgi", "-b", "127.0.0.1:" + port, "-w", "1", "--threads", "2", "--no-control-socket"}
	}, func(ctx context.Context, addr string) error {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr) // the first request waits for the program
		if err == nil {
			err = conn.Close()
		}
		return err
	}, func(cmd *exec.Cmd) {
		cmd.Dir, cmd.Env = root, environ
	})
	n := &NetBox{t: t, URL: "http://" + server.Addr}
	token := n.Send(http.MethodPost, "users/tokens/provision", map[string]any{"username": "admin", "password": "correct-horse-battery-1"})
	n.Token = fmt.Sprintf("nbt_%v.%v", token["key"], token["token"])
	return n
}

// Send sends a request to the API, and returns the response.
func (n *NetBox) Send(method, path string, body any) (o map[string]any) {
	n.t.Helper()
	n.request(method, path, body, &o)
	return o
}

func (n *NetBox) request(method, path string, body, to any) {
	n.t.Helper()
	text, err := json.Marshal(body)
	require.NoError(n.t, err)
	address := n.URL + "/api/" + path
	if !strings.Contains(path, "?") {
		address += "/"
	}
	ctx, cancel := context.WithTimeout(n.t.Context(), 2*time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(text))
	require.NoError(n.t, err)
	r.Header.Set("Content-Type", "application/json")
	if n.Token != "" {
		r.Header.Set("Authorization", "Bearer "+n.Token)
	}
	response, err := http.DefaultClient.Do(r)
	require.NoError(n.t, err)
	defer response.Body.Close()
	text, err = io.ReadAll(response.Body)
	require.NoError(n.t, err)
	require.Less(n.t, response.StatusCode, 300, "%s %s: %s", method, path, text[:min(len(text), 2000)])
	require.NoError(n.t, json.Unmarshal(text, to))
}

// Add creates objects, and returns their numbers.
func (n *NetBox) Add(path string, objects ...map[string]any) (ids []any) {
	n.t.Helper()
	var all []map[string]any
	n.request(http.MethodPost, path, objects, &all)
	for _, o := range all {
		ids = append(ids, o["id"])
	}
	return ids
}

// All returns the objects of a list.
func (n *NetBox) All(path string) (all []map[string]any) {
	n.t.Helper()
	for {
		var p struct {
			Count   int
			Results []map[string]any
		}
		n.request(http.MethodGet, fmt.Sprintf("%s/?limit=50&ordering=id&offset=%d", path, len(all)), nil, &p)
		if all = append(all, p.Results...); len(all) >= p.Count || len(p.Results) == 0 {
			return all
		}
	}
}
