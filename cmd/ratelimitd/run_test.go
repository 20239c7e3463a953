package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/internal/ratelimit/settings"
)

// ownLine gives the first line that the program itself writes. The log may come before,
// if the start takes long.
type ownLine struct {
	once sync.Once
	line chan string
}

func (o *ownLine) Write(p []byte) (int, error) {
	if strings.HasPrefix(string(p), "ratelimitd: ") {
		o.once.Do(func() { o.line <- string(p) })
	}
	return len(p), nil
}

func TestRunsUntilTold(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "config"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, "config", "d.yaml"), []byte("domain: d\n"), 0o644))
	ctx, cancel := context.WithCancel(t.Context())
	errs := &ownLine{line: make(chan string, 1)}
	done := make(chan int, 1)
	go func() {
		done <- cli.Run(ctx, "ratelimitd", run, cli.Env{Stderr: errs, Environ: map[string]string{
			"HOST": "127.0.0.1", "PORT": "0", "GRPC_HOST": "127.0.0.1", "GRPC_PORT": "0", "RUNTIME_ROOT": root,
			"DEBUG_HOST": "127.0.0.1", "DEBUG_PORT": "0", "DISABLE_STATS": "true",
		}})
	}()
	select {
	case line := <-errs.line:
		require.Regexp(t, regexp.MustCompile(`^ratelimitd: gRPC on 127\.0\.0\.1:\d+, HTTP on 127\.0\.0\.1:\d+, debug on 127\.0\.0\.1:\d+, counters embedded \(neither BACKEND_TYPE nor KVSTORE_URL is set\)\n$`), line)
	case <-time.After(time.Minute):
		t.Fatal("does not start")
	}
	cancel()
	require.Zero(t, <-done)
}

func TestBadSettings(t *testing.T) {
	var errs bytes.Buffer
	code := cli.Run(t.Context(), "ratelimitd", run, cli.Env{Stderr: &errs, Environ: map[string]string{"PORT": "x", "SHADOW_MODE": "y", "GRPC_PRT": "1"}})
	require.Equal(t, cli.ExitUsage, code)
	require.Contains(t, errs.String(), "\nPORT: ")
	require.Contains(t, errs.String(), "\nSHADOW_MODE: ")
	require.Contains(t, errs.String(), "warning: GRPC_PRT: ")
}

func TestSettingsList(t *testing.T) {
	var out bytes.Buffer
	require.Zero(t, cli.Run(t.Context(), "ratelimitd", run, cli.Env{Args: []string{"-settings"}, Stdout: &out, Stderr: &out}))
	require.Len(t, strings.Split(strings.TrimSpace(out.String()), "\n"), len(settings.Table()))
	require.Regexp(t, `(?m)^GRPC_PORT\s+8081\s+port of the gRPC listener`, out.String())

	require.Regexp(t, `(?m)^KVSTORE_URL\s.*\(also REDIS_URL\)$`, out.String())

	out.Reset()
	require.Equal(t, cli.ExitUsage, cli.Run(t.Context(), "ratelimitd", run, cli.Env{Args: []string{"x"}, Stdout: &out, Stderr: &out}))
	require.Contains(t, out.String(), "environment variables")
}

// The values in effect, with where they come from, and no secret.
func TestPrintSettings(t *testing.T) {
	print := func(environ map[string]string) (code int, out, errs string) {
		var o, e bytes.Buffer
		code = cli.Run(t.Context(), "ratelimitd", run, cli.Env{Args: []string{"-print-settings"}, Stdout: &o, Stderr: &e, Environ: environ})
		return code, o.String(), e.String()
	}
	code, out, errs := print(map[string]string{
		"REDIS_URL": "redis.example:6379", "REDIS_AUTH": "hunter2", "GRPC_PORT": "9081", "GRPC_PRT": "1",
	})
	require.Zero(t, code, errs)
	require.Regexp(t, `(?m)^GRPC_PORT +9081 +environment, as GRPC_PORT$`, out)
	require.Regexp(t, `(?m)^PORT +8080 +default$`, out)
	require.Regexp(t, `(?m)^KVSTORE_URL +redis\.example:6379 +environment, as REDIS_URL$`, out)
	require.Regexp(t, `(?m)^KVSTORE_AUTH +\*\*\* +environment, as REDIS_AUTH$`, out)
	require.NotContains(t, out+errs, "hunter2")
	require.Contains(t, errs, "warning: GRPC_PRT: ")
	require.Contains(t, errs, "GRPC_PORT")

	code, out, errs = print(map[string]string{"PORT": "x"})
	require.Equal(t, cli.ExitUsage, code)
	require.Contains(t, out, "GRPC_PORT", "the list is printed all the same")
	require.Contains(t, errs, "\nPORT: ")

	missing := filepath.Join(t.TempDir(), "missing")
	code, out, errs = print(map[string]string{"GRPC_SERVER_USE_TLS": "true", "GRPC_SERVER_TLS_CERT": missing, "GRPC_SERVER_TLS_KEY": missing})
	require.Equal(t, cli.ExitFailure, code, "the start would fail")
	require.Contains(t, out, "GRPC_PORT")
	require.Contains(t, errs, "GRPC_SERVER_TLS_CERT")
	code, _, errs = print(map[string]string{"USE_PROMETHEUS": "true", "USE_STATSD": "false", "PROMETHEUS_MAPPER_YAML": missing})
	require.Zero(t, code)
	require.Contains(t, errs, "level=ERROR")
	require.Contains(t, errs, "PROMETHEUS_MAPPER_YAML")
}

// -limits serves a directory and follows its changes, whatever the environment says.
func TestLimits(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "limits")
	require.NoError(t, os.Mkdir(dir, 0o755))
	file := filepath.Join(dir, "d.yaml")
	require.NoError(t, os.WriteFile(file, []byte("domain: before\n"), 0o644))

	var out bytes.Buffer
	code := cli.Run(t.Context(), "ratelimitd", run, cli.Env{Args: []string{"-limits", file}, Stderr: &out})
	require.Equal(t, cli.ExitUsage, code)
	require.Contains(t, out.String(), "is a file: use its directory")
	require.Zero(t, cli.Run(t.Context(), "ratelimitd", run, cli.Env{
		Args: []string{"-limits", dir, "-print-settings"}, Stdout: &out, Stderr: &out, Environ: map[string]string{"RUNTIME_SUBDIRECTORY": "x"},
	}))
	require.Regexp(t, `(?m)^RUNTIME_APPDIRECTORY +limits +-limits$`, out.String())
	require.Regexp(t, `(?m)^RUNTIME_SUBDIRECTORY +-limits$`, out.String())

	ctx, cancel := context.WithCancel(t.Context())
	errs := &ownLine{line: make(chan string, 1)}
	done := make(chan int, 1)
	go func() {
		done <- cli.Run(ctx, "ratelimitd", run, cli.Env{Args: []string{"-limits", dir}, Stderr: errs, Environ: map[string]string{
			"HOST": "127.0.0.1", "PORT": "0", "GRPC_HOST": "127.0.0.1", "GRPC_PORT": "0", "RUNTIME_ROOT": "/nonexistent",
			"DEBUG_HOST": "127.0.0.1", "DEBUG_PORT": "0", "DISABLE_STATS": "true",
		}})
	}()
	var line string
	select {
	case line = <-errs.line:
	case <-time.After(time.Minute):
		t.Fatal("does not start")
	}
	debug := regexp.MustCompile(`debug on ([^,]+),`).FindStringSubmatch(line)
	require.Len(t, debug, 2, line)
	require.NoError(t, os.WriteFile(file, []byte("domain: after\ndescriptors: [{key: k, rate_limit: {unit: day, requests_per_unit: 7}}]\n"), 0o644))
	require.Eventually(t, func() bool {
		response, err := http.Get("http://" + debug[1] + "/rlconfig")
		if err != nil {
			return false
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		return err == nil && strings.HasPrefix(string(body), "after.k: ")
	}, time.Minute, 20*time.Millisecond)
	cancel()
	require.Zero(t, <-done)
}

// With LOG_FORMAT=json every line is JSON, also where the start fails or other settings are
// invalid, with levels in lower case.
func TestJSONLines(t *testing.T) {
	for name, c := range map[string]struct {
		environ map[string]string
		code    int
		want    []string
	}{
		"invalid settings": {
			map[string]string{"PORT": "x", "GRPC_PRT": "1", "LOG_LEVEL": "loud"},
			cli.ExitUsage,
			[]string{`"level":"warning","@message":"settings","warning":"GRPC_PRT: `, `"level":"error","@message":"ratelimitd ends","err":"settings:\n`},
		},
		"start fails": {
			map[string]string{
				"RUNTIME_ROOT": t.TempDir(), "DISABLE_STATS": "true", "HOST": "127.0.0.1", "PORT": "0", "DEBUG_PORT": "0", "GRPC_UDS": os.DevNull,
			},
			cli.ExitFailure,
			[]string{`"level":"error","@message":"ratelimitd ends","err":"/dev/null exists and is not a socket`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var errs bytes.Buffer
			c.environ["LOG_FORMAT"] = "json"
			require.Equal(t, c.code, cli.Run(t.Context(), "ratelimitd", run, cli.Env{Stderr: &errs, Environ: c.environ}))
			for line := range strings.Lines(errs.String()) {
				require.True(t, json.Valid([]byte(line)), line)
			}
			for _, want := range c.want {
				require.Contains(t, errs.String(), want)
			}
		})
	}
}

// The log of the gRPC library has the format of the program's.
func TestLibraryLog(t *testing.T) {
	var out bytes.Buffer
	l := newGRPCLog(newLog(&out, map[string]string{"LOG_FORMAT": "json"}))
	l.Warningln("hidden")
	l.Errorln("a", 1)
	require.Regexp(t, `^\{"@timestamp":"[^"]+","level":"error","@message":"a 1"\}\n$`, out.String())
}
