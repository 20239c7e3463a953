package inventory_test

import (
	"testing"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

func TestHeavy(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]bool{
		"": false, "page=1000": false, "page=1002": true, "q=core": true, "hostname=core-1": false,
		"id=" + id(1): false, "status=active": false, "status=active&count=false": false, "status__in=active,offline": false,
		"status__ne=active": true, "status=active&vendor=Cisco": false, "status=active&vendor=Cisco&os=Junos": true, "status=active&vendor=Cisco&count=false": false,
		"hostname__contains=a": true, "hostname__startswith=a": true, "serial_number__isnull=true": true, "tags=a": true,
		"role=access": false, "os=Junos": true, "tags=a&os=Junos": true, "location_id=" + id(1): false, "last_seen__gt=2026-01-31T12:00:00Z": true,
		"last_seen__gt=2026-01-31T12:00:00Z&count=false": false,
		"sortby=hostname:asc":                            false, "sortby=last_seen:desc": false, "sortby=role:asc": false, "sortby=os:asc": true, "sortby=version:asc": true,
		"sortby=vendor:asc&sortby=hostname:asc": true, "sortby=id:desc&sortby=version:asc": false,
		"cursor=": false, "fields=id": false,
	} {
		q, err := parse(t, records.Of[inventory.Device](schema), query)
		ok(t, err)
		if q.Heavy() != want {
			t.Errorf("%q: Heavy is %v, want %v", query, q.Heavy(), want)
		}
	}
	for query, want := range map[string]bool{
		"": true, "sortby=ts:desc&sortby=id:desc": false, "sortby=ts:asc": false, "sortby=cpu:desc": true,
		"sortby=ts:desc&sortby=cpu:desc": true, "device_id=" + id(1): false,
		"sortby=cpu:desc&device_id=" + id(1): false, "sortby=cpu:desc&cpu__gt=50": true, "sortby=cpu:desc&page=1002": true,
		"sortby=created_at:desc": true,
	} {
		q, err := parse(t, records.Of[inventory.Metric](schema), query)
		ok(t, err)
		if q.HeavyLatest() != want {
			t.Errorf("%q: HeavyLatest is %v, want %v", query, q.HeavyLatest(), want)
		}
	}
	interfaces := &records.Query{Resource: records.Of[inventory.Interface](schema), Count: true}
	if interfaces.Where("device_id", id(1)).Heavy() {
		t.Error("the interfaces of one device are heavy")
	}
}
