package server_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"strings"

	"github.com/ashlar-go/ashlar/ratelimit/config"
	"github.com/ashlar-go/ashlar/ratelimit/server"
)

// A complete server embedded in a program that contains its rules. It runs until the
// context ends, here after two requests.
func ExampleNew() {
	s, err := server.ParseSettings(map[string]string{
		"HOST": "127.0.0.1", "PORT": "0", // 0 is a free one
		"GRPC_HOST": "127.0.0.1", "GRPC_PORT": "0",
		"DEBUG_HOST": "127.0.0.1", "DEBUG_PORT": "0",
		"USE_STATSD": "false",
	})
	if err != nil {
		log.Fatal(err)
	}
	listening := make(chan server.Addresses, 1)
	srv, err := server.New(context.Background(), s, &server.Options{
		Log:       slog.New(slog.DiscardHandler),
		Output:    io.Discard,
		Listening: func(a server.Addresses) { listening <- a },
		Files: []config.File{{Name: "shop.yaml", Data: []byte(
			"domain: shop\ndescriptors: [{key: user, rate_limit: {unit: year, requests_per_unit: 1}}]\n",
		)}},
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- srv.Run(ctx) }()

	address := (<-listening).HTTP.String()
	for range 2 {
		body := `{"domain": "shop", "descriptors": [{"entries": [{"key": "user", "value": "ann"}]}]}`
		response, err := http.Post("http://"+address+"/json", "application/json", strings.NewReader(body))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(response.Status, response.Body.Close())
	}
	http.DefaultClient.CloseIdleConnections()
	stop()
	fmt.Println(<-ended)
	// Output:
	// 200 OK <nil>
	// 429 Too Many Requests <nil>
	// <nil>
}

// The log of a program before it creates a server, on the standard error stream.
func ExampleNewLog() {
	s, err := server.ParseSettings(map[string]string{"LOG_LEVEL": "error", "LOG_FORMAT": "json"})
	if err != nil {
		log.Fatal(err)
	}
	logger := server.NewLog(s) // slog.SetDefault(logger)
	for _, level := range []slog.Level{slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
		fmt.Println(level, logger.Enabled(context.Background(), level))
	}
	// Output:
	// INFO false
	// WARN false
	// ERROR true
}

func ExampleNewLogTo() {
	s, err := server.ParseSettings(map[string]string{"LOG_LEVEL": "warn"})
	if err != nil {
		log.Fatal(err)
	}
	var out strings.Builder
	logger := server.NewLogTo(&out, s)
	logger.Info("hardly of interest")
	logger.Warn("of interest", "domain", "shop")
	_, line, _ := strings.Cut(out.String(), " ") // the time comes first
	fmt.Print(line)
	// Output:
	// level=WARN msg="of interest" domain=shop
}
