package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/ratelimit"
)

type receiver struct {
	key    []byte
	seen   *ratelimit.Limiter
	handle func(body []byte) error // has 10 seconds: then the inventory sends the message again
}

func (h *receiver) routes() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST /hook", httpx.HandlerFunc(h.receive))
	return httpx.Standard(nil)(mux)
}

func (h *receiver) receive(w http.ResponseWriter, r *http.Request) error {
	body, err := httpx.ReadBody(r, 0)
	if err != nil {
		return err
	}
	id, at := r.Header.Get("Webhook-Id"), r.Header.Get("Webhook-Timestamp")
	sent, err := strconv.ParseInt(at, 10, 64)
	if err != nil || time.Since(time.Unix(sent, 0)).Abs() > 5*time.Minute ||
		!hmac.Equal([]byte(r.Header.Get("Webhook-Signature")), []byte(h.sign(id, at, string(body)))) {
		return httpx.Errorf(http.StatusUnauthorized, "The signature is wrong or older than five minutes")
	}
	first, err := h.seen.Allow(r.Context(), id)
	if err != nil {
		return httpx.Errorf(http.StatusServiceUnavailable, "Try again later")
	}
	if !first.Allowed() {
		fmt.Fprintln(w, "seen before")
		return nil
	}
	if err := h.handle(body); err != nil {
		return errors.Join(err, h.seen.Reset(r.Context(), id)) // 500: the inventory sends it again
	}
	fmt.Fprintln(w, "handled")
	return nil
}

// sign returns the signature of a message.
func (h *receiver) sign(id, at, body string) string {
	mac := hmac.New(sha256.New, h.key)
	mac.Write([]byte(id + "." + at + "." + body))
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
