//go:build unix

package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/postgrestest"
	"github.com/ashlar-go/ashlar/internal/scaletest"
	"github.com/ashlar-go/ashlar/internal/servertest"
	"github.com/ashlar-go/ashlar/inventory/feed"
)

// webhookSecret is the secret of all rules here.
const webhookSecret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="

// receiving is the variable with the file to which this binary writes the messages that it receives, when a test runs it.
const receiving = "ASHLAR_TEST_RECEIVE"

// receive writes the name of the record of each message to a file before it responds, until it is killed.
func receive(file string) error {
	to, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return http.ListenAndServe(os.Args[len(os.Args)-1], http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var change struct {
			Changes struct{ Name struct{ After string } }
		}
		if json.NewDecoder(r.Body).Decode(&change) != nil || change.Changes.Name.After == "" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		if _, err := to.WriteString(change.Changes.Name.After + "\n"); err != nil {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
}

// accepts returns nil if a server accepts connections.
func accepts(ctx context.Context, addr string) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err == nil {
		_ = conn.Close()
	}
	return err
}

// startReceiver starts this binary as a receiver.
func startReceiver(t *testing.T) (p *servertest.Process, file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "received")
	return servertest.StartWith(t, os.Args[0], func(port string) []string { return []string{"127.0.0.1:" + port} }, accepts,
		func(cmd *exec.Cmd) { cmd.Env = append(os.Environ(), receiving+"="+file) }), file
}

// addWebhook creates a rule for VRFs.
func (i *inventory) addWebhook(url, more string) {
	i.t.Helper()
	code, body := i.send("POST", "/webhooks", fmt.Sprintf(`{"name":"hook %s","url":%q,"secret":%q,"resources":["vrfs"]%s}`, url, url, webhookSecret, more))
	require.Equal(i.t, 201, code, body)
}

// createVRFs creates n records with the names after first, in bulk.
func (i *inventory) createVRFs(first, n int) {
	i.t.Helper()
	for n += first; first < n; {
		var items []string
		for ; first < n && len(items) < 1000; first++ {
			items = append(items, fmt.Sprintf(`{"name":"v%d"}`, first))
		}
		code, body := i.send("POST", "/vrfs", "["+strings.Join(items, ",")+"]")
		require.Equal(i.t, 201, code, body)
	}
}

// requireDelivered waits until n names are received: each, in order, and repeated only where something was killed.
func requireDelivered(t *testing.T, file string, n, kills int) {
	t.Helper()
	var lines []string
	limit := time.Now().Add(2 * time.Minute)
	for last := fmt.Sprint("v", n-1); len(lines) == 0 || lines[len(lines)-1] != last; {
		require.True(t, time.Now().Before(limit), "%d messages of %d arrived", len(lines), n)
		time.Sleep(50 * time.Millisecond)
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		lines = strings.Fields(string(text))
	}
	next, again := 0, 0
	for _, line := range lines {
		switch {
		case line == fmt.Sprint("v", next):
			next++
		default:
			var seen int
			_, err := fmt.Sscanf(line, "v%d", &seen)
			require.NoError(t, err)
			require.Less(t, seen, next, "a message is missing, or too early")
			again++
		}
	}
	require.Equal(t, n, next)
	require.LessOrEqual(t, again, kills*100, "messages are repeated without a reason")
	t.Logf("%d messages, %d of them again after %d kills", len(lines), again, kills)
}

// TestWebhookReceiver: Debian's webhook checks the signature, and runs a command for each message; a wrong one is refused.
func TestWebhookReceiver(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	received, script, hooks := filepath.Join(dir, "received"), filepath.Join(dir, "script"), filepath.Join(dir, "hooks.json")
	require.NoError(t, os.WriteFile(received, nil, 0o600))
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\necho \"$1\" >>"+received+"\n"), 0o700))
	rule := func(id, secret string) string {
		return fmt.Sprintf(`{"id":%q,"execute-command":%q,"include-command-output-in-response":true,
			"pass-arguments-to-command":[{"source":"payload","name":"changes.name.after"}],
			"trigger-rule":{"match":{"type":"payload-hmac-sha256","secret":%q,"parameter":{"source":"header","name":"X-Hub-Signature-256"}}}}`, id, script, secret)
	}
	require.NoError(t, os.WriteFile(hooks, []byte("["+rule("right", webhookSecret)+","+rule("wrong", "another secret")+"]"), 0o600))
	receiver := servertest.Start(t, "webhook", func(port string) []string { return []string{"-hooks", hooks, "-ip", "127.0.0.1", "-port", port} }, accepts)
	i := startInventory(t, filepath.Join(dir, "inventory.db"), map[string]string{"WEBHOOKS_PRIVATE": "true"})
	i.addWebhook("http://"+receiver.Addr+"/hooks/right", `,"github_signature":true`)
	i.addWebhook("http://"+receiver.Addr+"/hooks/wrong", `,"github_signature":true`)
	i.createVRFs(0, 500)
	requireDelivered(t, received, 500, 0)
	eventually(t, "the wrong secret is refused", func() bool {
		_, body := i.send("GET", "/webhook-deliveries?state=failed", "")
		return strings.Contains(body, `"status":500`)
	})
	i.stop()
}

// TestWebhookReceiverExample: the example takes what inventoryd sends.
func TestWebhookReceiverExample(t *testing.T) {
	t.Parallel()
	w := startServer(t, "go run ./examples/webhook-receiver")
	i := startInventory(t, filepath.Join(t.TempDir(), "inventory.db"), map[string]string{"WEBHOOKS_PRIVATE": "true"})
	i.addWebhook("http://"+w.addrs["8014"]+"/hook", "")
	i.createVRFs(0, 3)
	w.waitFor(w.stdout, `"after":"v0"(.|\n)*"after":"v1"(.|\n)*"after":"v2"`)
	i.stop()
	w.stop()
}

// TestWebhooksKilled kills the receiver and inventoryd, again and again: no message is missing, and all are in order. Without
// -short and -race there are 100,000.
func TestWebhooksKilled(t *testing.T) {
	t.Parallel()
	n := 100_000
	switch {
	case testing.Short():
		n = 3000
	case scaletest.Race():
		n = 20_000
	}
	receiver, received := startReceiver(t)
	file, environ := filepath.Join(t.TempDir(), "inventory.db"), map[string]string{"WEBHOOKS_PRIVATE": "true", "WEBHOOKS_KEY": strings.Repeat("k", 32)}
	i := startInventory(t, file, environ)
	i.addWebhook("http://"+receiver.Addr+"/", "")
	arrived := func(share int) {
		eventually(t, "messages arrive", func() bool {
			info, err := os.Stat(received)
			return err == nil && info.Size() >= int64(share)
		})
	}
	began := time.Now()
	i.createVRFs(0, n/2)
	arrived(n / 4)
	i.signal(syscall.SIGKILL)
	<-i.ended
	i = startInventory(t, file, environ)
	receiver.Restart()
	i.createVRFs(n/2, n/4)
	arrived(n * 3)
	receiver.Restart()
	i.createVRFs(n*3/4, n/4)
	receiver.Restart()
	requireDelivered(t, received, n, 4)
	t.Log(n, "changes in", time.Since(began))
	i.stop()
}

// TestWebhooksOfProcesses: one of three inventoryd with a database delivers. When it is killed, another one does.
func TestWebhooksOfProcesses(t *testing.T) {
	t.Parallel()
	url := ordinaryUser(t, postgrestest.Start(t))
	receiver, received := startReceiver(t)
	environ := map[string]string{"WEBHOOKS_PRIVATE": "true"}
	first := startInventory(t, url, environ)
	first.addWebhook("http://"+receiver.Addr+"/", "")
	first.createVRFs(0, 1000)
	requireDelivered(t, received, 1000, 0)
	others := []*inventory{startInventory(t, url, environ), startInventory(t, url, environ)}
	others[0].createVRFs(1000, 1000)
	first.signal(syscall.SIGKILL)
	<-first.ended
	others[1].createVRFs(2000, 1000)
	requireDelivered(t, received, 3000, 1)
	others[0].stop() // it may be the one that delivers, and gives that to the other
	others[1].createVRFs(3000, 1000)
	began := time.Now()
	requireDelivered(t, received, 4000, 1)
	require.Less(t, time.Since(began), 8*time.Second, "a process that ends gives its lease away")
	eventually(t, "the state counts them", func() bool {
		_, state := others[1].send("GET", "/webhook-states", "")
		return strings.Contains(state, `"sent":4000`)
	})
	others[1].stop()
}

// TestSoakOfProcesses: three inventoryd with a database have writers, a follower of the feed, a client of NetBox and a
// webhook. Nothing is lost, and make soak checks that their memory stays bounded.
func TestSoakOfProcesses(t *testing.T) {
	t.Parallel()
	soak := scaletest.Soak(t)
	length := max(soak, 2*time.Second)
	url := ordinaryUser(t, postgrestest.Start(t))
	receiver, received := startReceiver(t)
	var all []*inventory
	for range 3 {
		all = append(all, startInventory(t, url, map[string]string{"WEBHOOKS_PRIVATE": "true", "RATE_LIMIT": "0"}))
	}
	all[0].addWebhook("http://"+receiver.Addr+"/", "")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var followed atomic.Int64
	var wait sync.WaitGroup
	wait.Go(func() {
		err := feed.Follow(ctx, all[1].url, all[1].token, "0", &feed.Options{Resources: []string{"vrfs"}}, func(c feed.Change) error {
			if name := c.Changes["name"].After; name != fmt.Sprint("v", followed.Load()) {
				return fmt.Errorf("change %d is %v", followed.Load(), name)
			}
			followed.Add(1)
			return nil
		})
		assert.ErrorIs(t, err, context.Canceled)
	})
	for n := range 2 { // writers of the same devices, and a reader
		wait.Go(func() {
			for round := 0; ctx.Err() == nil; round++ {
				i := all[(n+round)%3]
				if code, body := i.send("POST", "/import?resource=devices&format=jsonl", fmt.Sprintf(`{"hostname":"d%d","ip":"10.0.0.%d","notes":"%d of %d"}`, round%200, round%200, round, n)); code != 200 && code != 503 {
					t.Errorf("%d %s", code, body)
				}
				if code, body := i.send("GET", "/netbox/api/dcim/devices/?limit=0", ""); code != 200 {
					t.Errorf("%d %s", code, body)
				}
			}
		})
	}
	memory := func() (sizes []int) {
		for _, i := range all {
			sizes = append(sizes, (&server{process: i.process}).memory())
		}
		return sizes
	}
	began, sent := time.Now(), 0
	var before []int
	for time.Since(began) < length {
		all[sent/10%3].createVRFs(sent, 10)
		sent += 10
		if before == nil && time.Since(began) > length/5 {
			before = memory()
		}
		time.Sleep(20 * time.Millisecond)
	}
	requireDelivered(t, received, sent, 0)
	eventually(t, "the follower has all changes", func() bool { return followed.Load() == int64(sent) })
	cancel()
	wait.Wait()
	after := memory()
	t.Logf("%d changes; memory after a fifth of the time %d, at its end %d bytes", sent, before, after)
	for n, i := range all {
		if soak > 0 {
			require.Less(t, after[n], before[n]+soakGrowth())
		}
		require.Equal(t, sent, i.count("vrfs"))
		i.stop()
	}
}
