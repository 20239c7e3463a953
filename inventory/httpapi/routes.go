package httpapi

import (
	"slices"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/auth"
)

// table is the whole surface: what is asked for, who may, and what is done (specification,
// Endpoints A; reference, ruling 6). Requests are let in, their parameters looked at, and
// the OpenAPI document made, by what stands here.
func (a *API) table() []route {
	devices, interfaces := inventory.Of[inventory.Device](), inventory.Of[inventory.Interface]()
	locations, vlans := inventory.Of[inventory.Location](), inventory.Of[inventory.VLAN]()
	links, events := inventory.Of[inventory.Link](), inventory.Of[inventory.Event]()
	metrics, audit := inventory.Of[inventory.Metric](), inventory.Of[inventory.AuditLog]()
	routes := []route{
		{"GET /", auth.Read, a.running()},
		{"GET /debug/count", auth.Public, a.countLocations()},
		{"GET /openapi.json", auth.Public, a.openAPI()},

		{"GET /devices", auth.Read, a.list(devices)},
		{"POST /devices", auth.Write, a.create(devices)},
		{"PATCH /devices", auth.Write, a.changeMany(devices)},
		{"DELETE /devices", auth.Write, a.deleteMany(devices)},
		{"GET /devices/{id}", auth.Read, a.get(devices)},
		{"PUT /devices/{id}", auth.Write, a.replace(devices)},
		{"PATCH /devices/{id}", auth.Write, a.change(devices)},
		{"DELETE /devices/{id}", auth.Write, a.delete(devices)},
		{"GET /devices/{id}/interfaces", auth.Read, a.listOf(devices, interfaces, "device_id")},
		{"GET /devices/{id}/interfacecount", auth.Read, a.countOf(devices, interfaces, "device_id")},

		{"GET /interfaces", auth.Read, a.list(interfaces)},
		{"POST /interfaces", auth.Write, a.create(interfaces)},
		{"PATCH /interfaces", auth.Write, a.changeMany(interfaces)},
		{"DELETE /interfaces", auth.Write, a.deleteMany(interfaces)},
		{"GET /interfaces/{id}", auth.Read, a.get(interfaces)},
		{"PUT /interfaces/{id}", auth.Write, a.replace(interfaces)},
		{"PATCH /interfaces/{id}", auth.Write, a.change(interfaces)},
		{"DELETE /interfaces/{id}", auth.Write, a.delete(interfaces)},

		{"GET /locations", auth.Read, a.list(locations)},
		{"POST /locations", auth.Write, a.create(locations)},
		{"PATCH /locations", auth.Write, a.changeMany(locations)},
		{"DELETE /locations", auth.Write, a.deleteMany(locations)},
		{"GET /locations/{id}", auth.Read, a.get(locations)},
		{"PUT /locations/{id}", auth.Write, a.replace(locations)},
		{"PATCH /locations/{id}", auth.Write, a.change(locations)},
		{"DELETE /locations/{id}", auth.Write, a.delete(locations)},
		{"GET /locations/{id}/devices", auth.Read, a.listOf(locations, devices, "location_id")},
		{"GET /locations/{id}/devicescount", auth.Read, a.countOf(locations, devices, "location_id")},

		{"GET /vlans", auth.Read, a.list(vlans)},
		{"POST /vlans", auth.Write, a.create(vlans)},
		{"PATCH /vlans", auth.Write, a.changeMany(vlans)},
		{"DELETE /vlans", auth.Write, a.deleteMany(vlans)},
		{"GET /vlans/{id}", auth.Read, a.get(vlans)},
		{"PUT /vlans/{id}", auth.Write, a.replace(vlans)},
		{"PATCH /vlans/{id}", auth.Write, a.change(vlans)},
		{"DELETE /vlans/{id}", auth.Write, a.delete(vlans)},

		{"GET /links", auth.Read, a.list(links)},
		{"POST /links", auth.WriteLinks, a.create(links)},
		{"PATCH /links", auth.WriteLinks, a.changeMany(links)},
		{"DELETE /links", auth.WriteLinks, a.deleteMany(links)},
		{"GET /links/{id}", auth.Read, a.get(links)},
		{"PUT /links/{id}", auth.WriteLinks, a.replace(links)},
		{"PATCH /links/{id}", auth.WriteLinks, a.change(links)},
		{"DELETE /links/{id}", auth.WriteLinks, a.delete(links)},

		{"GET /events", auth.Read, a.list(events)},
		{"POST /events", auth.Write, a.create(events)},
		{"PATCH /events", auth.Write, a.acknowledgeMany()},
		{"DELETE /events", auth.Write, a.deleteMany(events)},
		{"GET /events/{id}", auth.Read, a.get(events)},
		{"PATCH /events/{id}", auth.Write, a.acknowledge()},
		{"DELETE /events/{id}", auth.Write, a.delete(events)},

		{"GET /metrics", auth.Read, a.overview()},
		{"POST /metrics", auth.Write, a.create(metrics)},
		{"DELETE /metrics", auth.Write, a.deleteMany(metrics)},
		{"GET /metrics/{id}", auth.Read, a.get(metrics)},
		{"GET /metrics/device/{id}", auth.Read, a.latestMetric()},

		{"GET /audit-logs", auth.ReadAudit, a.list(audit)},
		{"GET /audit-logs/{id}", auth.ReadAudit, a.get(audit)},
	}
	if a.accounts == nil {
		return routes
	}
	users := inventory.Of[inventory.User]()
	return slices.Concat(routes, []route{
		{"POST /users/login", auth.Public, a.login()},
		{"POST /users/logout", auth.Public, a.logout()},
		{"POST /users/forgot-password", auth.Public, a.forgotPassword()},
		{"POST /users/reset-password/{code}", auth.Public, a.resetPassword()},

		{"GET /users", auth.ManageUsers, a.list(users)},
		{"POST /users", auth.ManageUsers, a.create(users)},
		{"PATCH /users", auth.ManageUsers, a.changeMany(users)},
		{"DELETE /users", auth.ManageUsers, a.deleteMany(users)},
		{"GET /users/{id}", auth.ReadUser, a.get(users)},
		{"PUT /users/{id}", auth.ChangeUser, a.replace(users)},
		{"PATCH /users/{id}", auth.ChangeUser, a.change(users)},
		{"DELETE /users/{id}", auth.ManageUsers, a.delete(users)},
		{"PUT /users/{id}/password", auth.ChangeUser, a.changePassword()},
	})
}
