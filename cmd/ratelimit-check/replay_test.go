package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
)

// TestReplayExitCodes checks when a replay fails, and what is printed then.
func TestReplayExitCodes(t *testing.T) {
	t.Chdir("testdata/replay")
	for _, c := range []struct {
		code int
		args string
		out  string // part of the standard output
		errs string // part of the standard error
	}{
		{0, "limits.yaml -replay access.log", "10 requests: 4 would have been refused (40.00 %)", ""},
		{1, "limits.yaml -replay access.log -fail", "10 requests: 4 ", ""},
		{1, "limits.yaml -replay access.log -against looser.yaml -fail", "2 are refused only now, 0 ", ""},
		{0, "looser.yaml -replay access.log -against limits.yaml -fail", "0 are refused only now, 2 ", ""},
		{1, "limits.yaml -replay other.log -fail", "warning: no line makes the descriptor", "nothing was decided"},
		{0, "limits.yaml -replay other.log", "the lines have the fields page, ts", ""},
		{1, "limits.yaml -replay missing.log", "", "missing.log"},
		{1, "limits.yaml -replay limits.yaml", "", "unknown format"},
		{1, "limits.yaml -replay access.log -log_format json", "", "line 1: invalid JSON"},
		{1, "limits.yaml -replay access.log -mapping missing.yaml", "", "missing.yaml"},
		{1, "limits.yaml -replay access.log -mapping broken.yaml", "", `broken.yaml:4:10: unknown key "kye"`},
		{1, "limits.yaml -replay access.log -domain wbe", "", `unknown domain "wbe"`},
		{1, "limits.yaml -replay access.log -against broken.yaml", "broken.yaml:3:", ""},
		{1, "broken.yaml -replay access.log", "error loading rate limit configs", ""},
		{2, "limits.yaml -mapping mapping.yaml", "", "need -replay"},
		{2, "- -replay -", "", "-replay -"},
		{2, "limits.yaml -replay access.log -log_format xml", "", `-log_format "xml"`},
		{2, "limits.yaml -replay access.log -top 0", "", "-top 0"},
		{2, "limits.yaml -color sometimes", "", "use auto, always or never"},
	} {
		code, out, errs := call(t, "", strings.Fields(c.args)...)
		assert.Equal(t, c.code, code, "%s: %s%s", c.args, out, errs)
		assert.Contains(t, out, c.out, c.args)
		assert.Contains(t, errs, c.errs, c.args)
	}
}

// TestReplayOutputs compares the report of the standard input in JSON with that of a file.
func TestReplayOutputs(t *testing.T) {
	log, err := os.ReadFile("testdata/replay/access.log")
	require.NoError(t, err)
	args := []string{"testdata/replay/limits.yaml", "-json", "-replay"}
	_, fromFile, errs := call(t, "", append(args, "testdata/replay/access.log")...)
	require.Empty(t, errs)
	_, fromInput, errs := call(t, string(log), append(args, "-")...)
	require.Empty(t, errs)
	require.Equal(t, fromFile, fromInput)
	var r report
	require.NoError(t, json.Unmarshal([]byte(fromFile), &r))
	require.True(t, r.OK)
	require.Equal(t, uint64(4), r.Replay.Result.Refused)
	require.Equal(t, []string{"tenant"}, r.Replay.KeysWithoutField)
}

// TestReplayStopsReading checks that a canceled program does not wait for the standard input.
func TestReplayStopsReading(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	input := blocked{make(chan struct{})}
	defer close(input.until)
	done := make(chan int)
	go func() {
		var out bytes.Buffer
		done <- cli.Run(ctx, "ratelimit-check", run, cli.Env{Args: []string{"testdata/replay/limits.yaml", "-replay", "-"}, Stdin: input, Stdout: &out, Stderr: &out})
	}()
	cancel()
	require.Zero(t, <-done)
}

func TestProgress(t *testing.T) {
	for _, c := range []struct {
		read, total int64
		want        string
	}{
		{0, 0, "50000 lines, 10000 lines/s"},
		{25, 100, "50000 lines, 25 %, 10000 lines/s, 15s left"},
	} {
		require.Equal(t, c.want, progressText(50_000, c.read, c.total, 5*time.Second))
	}
}

// TestColors are used if asked for, and change nothing else.
func TestColors(t *testing.T) {
	t.Chdir("testdata")
	_, plain, _ := call(t, "", "broken")
	_, color, _ := call(t, "", "broken", "-color", "always")
	require.Contains(t, color, "\x1b[1mbroken/a.yaml:5:10\x1b[0m: \x1b[31merror\x1b[0m: ")
	require.Contains(t, color, "| \x1b[31m", "the caret is colored")
	for _, code := range []string{"0", "1", "31", "32", "33"} {
		color = strings.ReplaceAll(color, "\x1b["+code+"m", "")
	}
	require.Equal(t, plain, color)
}
