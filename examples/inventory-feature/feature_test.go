package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/httpx/httpxtest"
)

// TestMaintenance: the resource, the operation and the hook work together.
func TestMaintenance(t *testing.T) {
	t.Parallel()
	h, err := handler()
	require.NoError(t, err)
	c := httpxtest.New(t, h)
	create := func(path string, body any) (id string) {
		var made map[string]any
		c.Send("POST", "/api"+path, body).Want(201).JSON(&made)
		return made["id"].(string)
	}
	device := create("/devices", map[string]any{"hostname": "sw1"})
	for range 30 { // more than a page, all ended
		c.Send("POST", "/api/maintenances/"+create("/maintenances", map[string]any{"device_id": device, "reason": "dust"})+"/end", nil).Want(200)
	}
	work := create("/maintenances", map[string]any{"device_id": device, "reason": "new fan"})
	c.Send("DELETE", "/api/devices/"+device, nil).WantError(409, "maintenance fan")
	c.Send("POST", "/api/maintenances/"+work+"/end?dry_run=true", nil).Want(200).WantHeader("Dry-Run", "true")
	c.Send("DELETE", "/api/devices/"+device, nil).Want(409)
	c.Send("POST", "/api/maintenances/"+work+"/end", nil).Want(200)
	c.Send("DELETE", "/api/devices/"+device, nil).Want(200)
}
