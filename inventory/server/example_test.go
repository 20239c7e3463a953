package server_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/ashlar-go/ashlar/inventory/server"
)

func ExampleParse() {
	_, err := server.Parse(map[string]string{"RATE_LIMIT": "many", "JWT_SECRET": "secret"}, nil)
	fmt.Println(err)
	// Output:
	// JWT_SECRET: has 6 bytes: use at least 32, such as the output of openssl rand -hex 32
	// RATE_LIMIT: "many" is not a whole number: use a whole number from 0 to 2147483647
}

// A complete inventory mounted in another server.
func ExampleNew() {
	settings, err := server.Parse(map[string]string{"DATABASE_URL": ":memory:", "ADMIN_PASSWORD": "four words and a number"}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	inventory, err := server.New(context.Background(), settings, &server.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer inventory.Close()
	mux := http.NewServeMux()
	mux.Handle("/network/", http.StripPrefix("/network", inventory.Handler()))

	response := httptest.NewRecorder()
	mux.ServeHTTP(response, httptest.NewRequest("GET", "/network/debug/count", nil))
	fmt.Println(response.Code, response.Body)
	// Output:
	// 200 {"count":0}
}

func ExampleNewLog() {
	settings := server.Default()
	settings.LogFormat, settings.LogLevel = "json", slog.LevelWarn
	log := server.NewLog(os.Stderr, settings)
	log.Info("this is not written")
	fmt.Println(log.Enabled(context.Background(), slog.LevelInfo), log.Enabled(context.Background(), slog.LevelWarn))
	// Output: false true
}
