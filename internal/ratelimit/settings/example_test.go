package settings_test

import (
	"fmt"

	"github.com/ashlar-go/ashlar/internal/ratelimit/settings"
)

func ExampleParse() {
	s, err := settings.Parse(map[string]string{"REDIS_URL": "redis:6379", "GRPC_PORT": "9081"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.GRPCPort, s.KVStore.URL)
	fmt.Printf("counters: %s, because %s\n", s.Backend, s.BackendReason)
	// Output:
	// 9081 redis:6379
	// counters: kvstore, because BACKEND_TYPE is not set, but REDIS_URL is
}

func ExampleParse_errors() {
	_, err := settings.Parse(map[string]string{
		"PORT":                "8081",
		"REDIS_POOL_SIZE":     "ten",
		"GRPC_SERVER_USE_TLS": "true", "GRPC_SERVER_TLS_CERT": "server.pem",
	})
	fmt.Println(err)
	// Output:
	// REDIS_POOL_SIZE: "ten" is not a whole number: use a whole number of at least 1
	// PORT: 0.0.0.0:8081 is also the address of the gRPC listener, see GRPC_PORT: use another port, or 0 for a free one
	// GRPC_SERVER_USE_TLS: needs a private key: set GRPC_SERVER_TLS_KEY to its file, or set this to false
}

func ExampleWarnings() {
	for _, w := range settings.Warnings(map[string]string{"REDIS_POOLSIZE": "20", "GRPC_GO_LOG_SEVERITY_LEVEL": "info"}) {
		fmt.Println(w)
	}
	// Output:
	// REDIS_POOLSIZE: unknown setting: did you mean REDIS_POOL_SIZE?
}

func ExampleEffective() {
	for _, e := range settings.Effective(map[string]string{"REDIS_URL": "redis:6379", "REDIS_AUTH": "app:secret"}) {
		if e.Origin != "default" || e.Name == "BACKEND_TYPE" {
			fmt.Printf("%s=%s (%s)\n", e.Name, e.Value, e.Origin)
		}
	}
	// Output:
	// BACKEND_TYPE=kvstore (default)
	// KVSTORE_URL=redis:6379 (environment, as REDIS_URL)
	// KVSTORE_AUTH=*** (environment, as REDIS_AUTH)
}
