package site_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// TestWords: pages name fields by their labels, and no forms of JSON and no ids.
func TestWords(t *testing.T) {
	t.Parallel()
	for _, row := range [][2]string{
		{`must be a UUID such as 018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f`, `must be a record of the list`},
		{`names no record of device-types: there is no location with the site_code or name "my_site"`, `names no record of device types: there is no location with the site code or name "my_site"`},
		{`is for a record that exists, with the id 018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f`, `is for a record that exists`},
		{`names several records of locations (location "Cage"): name one by an object with site_code, name, parent_id, parent, or by id`, `names several records of locations (location "Cage"): choose one of the list`},
		{`the port is taken by cable C-1 (018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f)`, `the port is taken by cable C-1`},
		{`must be an array of strings`, `must be a list of texts`},
		{`must be one of active, in_use`, `must be one of active, in_use`},
		{`is used with rack_id and "018f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f"`, `is used with rack and `},
	} {
		require.Equal(t, row[1], site.Words(inventory.Schema(), row[0]))
	}
}
