package health_test

import (
	"fmt"

	"github.com/ashlar-go/ashlar/internal/health"
)

// The three components of the rate limit server, and what becomes of the whole.
func Example() {
	h := health.New(nil)
	// Always there. Unhealthy only if KVSTORE_HEALTH_CHECK_ACTIVE_CONNECTION is true
	// and no connection is active.
	store := h.Component("counter store", true)
	// Only there if HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED is true.
	config := h.Component("configuration", false)
	// Always there.
	termination := h.Component("termination", true)

	h.Notify(func(healthy bool) { fmt.Println("  told:", healthy) })

	fmt.Println("a configuration with a domain loads")
	config.Set(true, "1 domain")
	fmt.Println("the last connection to the store is lost")
	store.Set(false, "no active connection")
	fmt.Println("the configuration is gone, too")
	config.Set(false, "no domain")
	fmt.Println("both are back")
	store.Set(true, "connected")
	config.Set(true, "1 domain")
	fmt.Println("SIGTERM")
	termination.Fail("SIGTERM")
	config.Set(true, "2 domains")

	for _, c := range h.Components() {
		fmt.Printf("%s: %t, %s\n", c.Name, c.Healthy, c.Why)
	}
	// Output:
	//   told: false
	// a configuration with a domain loads
	//   told: true
	// the last connection to the store is lost
	//   told: false
	// the configuration is gone, too
	// both are back
	//   told: true
	// SIGTERM
	//   told: false
	// counter store: true, connected
	// configuration: true, 2 domains
	// termination: false, SIGTERM
}
