// Command webhook-receiver checks the signatures of webhooks (Standard Webhooks, as the inventory sends them) and handles each message
// once. With -redis, so do all receivers together.
//
//	go run ./examples/webhook-receiver
//	curl -i localhost:8014/hook -d '{}'
package main

import (
	"context"
	"encoding/base64"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
	"github.com/ashlar-go/ashlar/ratelimit/store/redisstore"
)

func main() {
	addr := flag.String("addr", "localhost:8014", "listen on `host:port`")
	redis := flag.String("redis", "", "remember messages in the Redis server at `host:port`; without it in this process")
	secret := flag.String("secret", "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=", "the `secret` of the sender's rule")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(*secret, "whsec_"))
	if err != nil {
		log.Fatal(err)
	}
	hook := &receiver{key: key, handle: func(body []byte) error { fmt.Printf("%s\n", body); return nil }}
	if hook.seen, err = messages(*redis); err != nil {
		log.Fatal(err)
	}
	l, err := net.Listen("tcp", *addr)
	if err != nil {
		log.Fatal(err)
	}
	now := fmt.Sprint(time.Now().Unix())
	fmt.Printf("listening on http://%[1]s; Ctrl-C ends it. Try within five minutes, and again:\n\n  curl -i http://%[1]s/hook -H 'webhook-id: 1' "+
		"-H 'webhook-timestamp: %[2]s' -H 'webhook-signature: %[3]s' -d '{}'\n\n", l.Addr(), now, hook.sign("1", now, "{}"))
	if err := httpx.Serve(ctx, l, hook.routes(), nil); err != nil {
		log.Fatal(err)
	}
}

// messages returns a limit that allows each message once a day.
func messages(redis string) (*ratelimit.Limiter, error) {
	var store ratelimit.Store = memstore.MustNew(nil)
	if redis != "" {
		shared, err := redisstore.New(redis, nil)
		if err != nil {
			return nil, err
		}
		store = shared
	}
	once := ratelimit.Limit{Algorithm: ratelimit.TokenBucket, RequestsPerUnit: 1, Unit: ratelimit.Day}
	return ratelimit.NewLimiter("messages", store, once, nil)
}
