// Command token-budget gives each customer of a language model 1,000 tokens a minute, and reserves an estimate for each answer.
//
//	go run ./examples/token-budget
//	curl -i localhost:8013/answers -H 'X-Customer: ann' -d 'Why is the sky blue?'
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/ratelimit/httplimit"
)

func gateway(redis string, model func(question string) []string) (http.Handler, error) {
	budget, err := tokens(redis)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("POST /answers", httpx.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		question, err := httpx.ReadBody(r, 4000)
		if err != nil {
			return err
		}
		used := len(strings.Fields(string(question)))
		// An answer has at most 300 tokens. What is not settled within two minutes, because this process has crashed, is free again.
		tokens, err := budget.Reserve(r.Context(), r.Header.Get("X-Customer"), uint64(used+300), 2*time.Minute)
		if err != nil {
			return httpx.Errorf(http.StatusServiceUnavailable, "Try again later")
		}
		if !httplimit.Respond(w, r, tokens.Status, nil) {
			return nil // 429, with Retry-After; nothing is charged
		}
		defer func() { // also if the client goes away
			if uncharged, err := tokens.Settle(r.Context(), uint64(used)); err != nil || uncharged > 0 {
				slog.Warn("tokens are not charged", "uncharged", uncharged, "err", err)
			}
		}()
		for _, word := range model(string(question)) {
			if _, err := fmt.Fprintln(w, word); err != nil || http.NewResponseController(w).Flush() != nil {
				break
			}
			used++
		}
		return nil
	}))
	return httpx.Standard(nil)(mux), nil
}

func main() {
	addr := flag.String("addr", "localhost:8013", "listen on `host:port`")
	redis := flag.String("redis", "", "share budgets with other processes by the Redis server at `host:port`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	handler, err := gateway(*redis, func(question string) []string { return strings.Fields("You ask: " + question) })
	l, failed := net.Listen("tcp", *addr)
	if err := errors.Join(err, failed); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("listening on http://%[1]s; Ctrl-C ends it. Try:\n\n  curl -i http://%[1]s/answers -H 'X-Customer: ann' -d 'Why is the sky blue?'\n\n", l.Addr())
	if err := httpx.Serve(ctx, l, handler, nil); err != nil {
		log.Fatal(err)
	}
}
