package sqlstore

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"io"
	"regexp"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/ashlar-go/ashlar/inventory/records"
)

// Long changes of an entry of the audit log are compressed: they are most of the database otherwise. The result is a
// document of changes too, with one field that no resource has: a program of an earlier version shows it, and verifies
// the log, whose hashes are those of the stored text.
const (
	packedFrom   = 210 // bytes; signed anchors are shorter
	packedPrefix = `{"~1":{"after":"`
	packedSuffix = `"}}`
)

// packedWords are what changes often contain, the most frequent last. Entries need them as they are: other words are
// another prefix.
const packedWords = `"email":{"after":"@example.com"},"first_name":{"after":"last_name":{"after":"must_change_password":{"after":false},"totp":{"after":false},"username":{"after":"inactive_status":{"after":false},` +
	`"asset_tag":{"after":"a_type":{"after":"interface"},"b_type":{"after":"color":{"after":"length":{"after":"severity":{"after":"message":{"after":"manufacturer":{"after":"part_number":{"after":"timezone":{"after":"Europe/` +
	`"address":{"after":"city":{"after":"country":{"after":"kind":{"after":"room"},"lat":{"after":"lon":{"after":"parent_id":{"after":"site_code":{"after":"dns_name":{"after":"gateway_ip":{"after":"10.0.0.1"},"subnet_cidr":{"after":"10.0.0.0/24"},"prefix":{"after":"172.16.` +
	`"vrf_id":{"after":"rack_face":{"after":"front"},"rack_height":{"after":1},"rack_id":{"after":"rack_position":{"after":"R1-U"},"rack_unit":{"after":"a_interface_id":{"after":"b_interface_id":{"after":"discovery":{"after":"lldp"},"tenant":{"after":"tags":{"after":["production"]},` +
	`{"device_type_id":{"after":"hostname":{"after":"ip":{"after":"192.168.location_id":{"after":"model":{"after":"notes":{"after":"os":{"after":"os_version":{"after":"role":{"after":"access-switch"},"serial_number":{"after":"vendor":{"after":"Cisco"},"last_seen":{"after":"2026-` +
	`{"before":"after":null},"status":{"before":"active"},"before":true},"before":"up","after":"down"},"interface_id":{"after":"lag_id":{"after":"untagged_vlan_id":{"after":"vlan_id":{"after":"ip_address":{"after":"10.` +
	`{"admin_status":{"after":"up"},"description":{"after":"device_id":{"after":"ifindex":{"after":"mac_address":{"after":"02:00:00:"},"mode":{"after":"access"},"mtu":{"after":1500},"name":{"after":"GigabitEthernet0/"},"oper_status":{"after":"up"},` +
	`"speed":{"after":"10Gbps"},"speed_mbps":{"after":10000},"speed":{"after":"1Gbps"},"speed_mbps":{"after":1000},"status":{"after":"active"},"status":{"after":"up"},"type":{"after":"fiber"},"type":{"after":"copper"}}`

// Ids are compressed as a byte that JSON has not, and theirs.
var (
	ids     = regexp.MustCompile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
	shortID = byte(1)
)

// newPackers returns the writers that textOfChanges uses again and again, each of which takes a megabyte.
func newPackers() *sync.Pool {
	return &sync.Pool{New: func() any {
		w, _ := flate.NewWriterDict(io.Discard, flate.BestCompression, []byte(packedWords)) // the level is valid
		return w
	}}
}

// textOfChanges returns changes as they are stored, without the halves that are null.
func (d *Dialect) textOfChanges(changes records.Changes) (string, error) {
	type half struct {
		Before any `json:"before,omitempty"`
		After  any `json:"after,omitempty"`
	}
	var stored map[string]half
	if changes != nil {
		stored = make(map[string]half, len(changes))
	}
	for name, c := range changes {
		stored[name] = half(c)
	}
	doc, err := json.Marshal(stored)
	if err != nil || len(doc) < packedFrom {
		return string(doc), err
	}
	var packed bytes.Buffer
	w := d.packers.Get().(*flate.Writer)
	defer d.packers.Put(w)
	w.Reset(&packed)
	doc = ids.ReplaceAllFunc(doc, func(id []byte) []byte {
		short := uuid.Must(uuid.ParseBytes(id))
		return append([]byte{shortID}, short[:]...)
	})
	if _, err := w.Write(doc); err != nil {
		return "", err
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	return packedPrefix + base64.RawStdEncoding.EncodeToString(packed.Bytes()) + packedSuffix, nil
}

// unpacked returns the document of a text that textOfChanges may have compressed.
func unpacked(text string) ([]byte, error) {
	packed, ok := strings.CutPrefix(text, packedPrefix)
	if !ok {
		return []byte(text), nil
	}
	packed = strings.TrimSuffix(packed, packedSuffix)
	r := base64.NewDecoder(base64.RawStdEncoding, strings.NewReader(packed))
	short, err := io.ReadAll(flate.NewReaderDict(r, []byte(packedWords)))
	var doc []byte
	for i := bytes.IndexByte(short, shortID); err == nil && i >= 0; i = bytes.IndexByte(short, shortID) {
		var id uuid.UUID
		if copy(id[:], short[i+1:]) < len(id) {
			return nil, io.ErrUnexpectedEOF
		}
		doc = append(append(doc, short[:i]...), id.String()...)
		short = short[i+1+len(id):]
	}
	return append(doc, short...), err
}
