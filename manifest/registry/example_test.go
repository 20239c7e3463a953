package registry_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/manifest/registry"
	"github.com/ashlar-go/ashlar/manifest/registry/client"
)

// A registry in memory, to which one token may publish the servers of one namespace.
func Example() {
	tokens, err := registry.Tokens(map[string][]string{"a-long-random-token": {"com.example"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	server := httptest.NewServer(registry.NewHandler(registry.NewMemStore(nil), &registry.Options{
		Authorize: tokens, Chain: &httpx.StandardOptions{Log: slog.New(slog.DiscardHandler)},
	}))
	defer server.Close()

	publisher, err := client.New(server.URL, &client.Options{Token: "a-long-random-token"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, version := range []string{"1.10.0", "1.9.0"} {
		_, err := publisher.Publish(context.Background(), fmt.Appendf(nil, `{
			"$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
			"name": "com.example/weather", "description": "Weather of any city", "version": %q}`, version))
		fmt.Println(version, err)
	}
	latest, err := publisher.Get(context.Background(), "com.example/weather", "")
	fmt.Println("latest", latest.Version, latest.State.Status, err)
	// Output:
	// 1.10.0 <nil>
	// 1.9.0 <nil>
	// latest 1.10.0 active <nil>
}
