// Package client reads and publishes manifests over the API of the public MCP registry.
//
//	c, err := client.New("https://registry.example.com", nil)
//	if err != nil {
//		return err
//	}
//	for e, err := range c.All(ctx, &registry.Filter{Search: "weather", Version: "latest"}) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(e.Name, e.Version)
//	}
//
// Responses are bounded. Requests that fail for a reason that may pass (429, 502, 503, 504, a broken connection) are
// sent again, after what Retry-After says or else with growing waits.
//
// # Design notes
//
// A request to publish is sent again only after 429 and 503, because after other failures it may have
// been carried out.
//
// A page with an entry that cannot be read is not an error: registries have old entries. Page counts them.
package client
