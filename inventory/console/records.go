package console

import (
	"github.com/ashlar-go/ashlar/inventory/console/internal/site"
)

// recordRoutes are the routes of the home page, of lists and of records.
func (c *Console) recordRoutes() []site.Route {
	return []site.Route{}
}
