package browsertest_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/feature/webhooks"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// TestConsoleWebhooks: a rule is created, tested, paused and resumed on its page, which shows what became of the messages.
func TestConsoleWebhooks(t *testing.T) {
	t.Parallel()
	s := startConsole(t, 2)
	s.needs("/webhooks")
	var status atomic.Int64
	status.Store(http.StatusServiceUnavailable)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(int(status.Load())) }))
	t.Cleanup(receiver.Close)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- webhooks.New().Jobs[0](ctx, &feature.Background{Engine: records.New(s.store, nil), Log: slog.New(slog.DiscardHandler), PrivateTargets: true})
	}()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
	})
	page := s.open("admin", "/r/webhooks/new", nil)
	s.looks(page, "webhook-new")
	page.Type("#f-name", "chat")
	page.Type("#f-url", receiver.URL)
	page.Type("#f-secret", "secret")
	page.Submit("main form .button-main")
	page.AwaitText("main", "openssl rand")
	page.Expected("400")
	page.Type("#f-secret", "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")
	page.Submit("main form .button-main")
	id := s.landed(page, "webhooks", "created")
	page.Submit(`form[action$="/test"] button`)
	page.AwaitText("#webhook-deliveries", "failed")
	s.looks(page, "webhook-failed")
	status.Store(http.StatusOK)
	page.Submit(`form[action$="/pause"] button`)
	page.AwaitText("#webhook-deliveries", "Paused")
	page.Submit(`form[action$="/test"] button`)
	page.AwaitText("#webhook-deliveries", "200")
	s.looks(page, "webhook-sent")
	page.Submit(`form[action$="/resume"] button`)
	page.AwaitText("#webhook-deliveries", "Pause")
	page.Goto(s.url + "/console/r/webhook-deliveries?webhook_id=" + id)
	page.AwaitText("main", "failed")
	s.looks(page, "webhook-deliveries")
	require.Len(t, s.first("/webhooks")["resources"], 0)
	page.Silent()
}
