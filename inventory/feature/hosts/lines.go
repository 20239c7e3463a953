package hosts

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/ashlar-go/ashlar/internal/inventory/zone"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

const (
	plainText = "text/plain; charset=utf-8"
	zoneText  = "text/dns; charset=utf-8" // RFC 4027

	defaultTTL = 3600
	maxTTL     = 1<<31 - 1 // RFC 2181, section 8
)

// hostsFile serves devices as lines of a hosts file.
func hostsFile() feature.Operation {
	return plainLines("/sd/hosts", "listHostsFile", "List devices as lines of a hosts file", "An address and a hostname on each line.",
		func() *hostLines { return &hostLines{format: "%[1]s\t%[2]s\n"} })
}

// sshConfig serves devices as hosts of a configuration of ssh.
func sshConfig() feature.Operation {
	return plainLines("/sd/ssh", "listSSHHosts", "List devices as hosts of a configuration of ssh", "A block Host for each device.",
		func() *hostLines {
			return &hostLines{format: "Host %[2]s\n    HostName %[1]s\n", once: map[string]bool{}}
		})
}

// plainLines serves a text without parameters.
func plainLines(path, id, summary, text string, lines func() *hostLines) feature.Operation {
	return feature.Operation{
		Operation: openapi.Operation{
			Path: path, ID: id, Summary: summary,
			Responses: []openapi.Response{{Status: http.StatusOK, Schema: openapi.String(text), ContentType: "text/plain"}},
		},
		Handle: serve(plainText, func(*feature.Request) (document, bool, error) { return lines(), false, nil }),
	}
}

// zoneFile serves devices as records of a DNS zone.
func zoneFile() feature.Operation {
	domain := openapi.BoundedString(1, 254)
	ttl := openapi.Integer("", 0)
	ttl.Maximum = new(float64(maxTTL))
	return feature.Operation{
		Operation: openapi.Operation{
			Path: "/sd/zone", ID: "listZone", Summary: "List devices as records of a DNS zone, to be included in it",
			Parameters: []openapi.Parameter{
				{Name: "origin", Required: true, Schema: domain, Description: "The domain of the zone, such as example.org, or 2.0.192.in-addr.arpa for the names of addresses."},
				{Name: "domain", Schema: domain, Description: "The domain of the hostnames, in a zone for the names of addresses."},
				{Name: "ttl", Schema: ttl, Description: "The TTL of the records in seconds. Default: 3600."},
			},
			Responses: []openapi.Response{{Status: http.StatusOK, Schema: openapi.String("$ORIGIN, $TTL, and a record A, AAAA or PTR on each line."), ContentType: "text/dns"}},
		},
		Handle: serve(zoneText, zoneLines),
	}
}

// zoneLines returns the text that the parameters ask for.
func zoneLines(r *feature.Request) (document, bool, error) {
	z, err := zone.New(r.Query.Get("origin"), r.Query.Get("domain"))
	if err != nil {
		return nil, false, records.Refuse("origin", err)
	}
	ttl, err := r.Number("ttl", 0, maxTTL, defaultTTL)
	if err != nil {
		return nil, false, err
	}
	return &hostLines{head: fmt.Sprintf("$ORIGIN %s.\n$TTL %d\n", z.Origin(), ttl), zone: z}, false, nil
}

// hostLines is a text with lines for each device that has an address and a hostname which is a host name.
// No other characters of a record are in it.
type hostLines struct {
	head   string
	format string          // of the lines of a device: with its address and its name in lower case
	zone   *zone.Zone      // of which there are records instead
	once   map[string]bool // the names that are taken, if only the first device gets one
	left   int             // the devices that are left out
}

func (h *hostLines) begin(b []byte) []byte { return append(b, h.head...) }

func (h *hostLines) kept() int64 { return 128 * int64(len(h.once)) }

func (h *hostLines) device(b []byte, d *inventory.Device, _ *inventory.Location) []byte {
	name := strings.ToLower(d.Hostname)
	valid := zone.IsHostName(name) && isAddress(d.IP) && !h.once[name]
	if valid && h.once != nil {
		h.once[name] = true
	}
	in := false
	var rr zone.Record
	if h.zone != nil {
		rr, valid, in = h.zone.Record(d.Hostname, d.IP)
	}
	switch {
	case !valid:
		h.left++
		return b
	case in:
		return fmt.Appendf(b, "%s\tIN\t%s\t%s\n", h.zone.Relative(rr.Name), rr.Type, rr.Data)
	case h.zone != nil:
		return b
	}
	return fmt.Appendf(b, h.format, d.IP, name)
}

func (h *hostLines) end(b []byte) []byte {
	if h.left == 0 {
		return b
	}
	why, comment := "without an address, or whose hostname is no host name", "#"
	if h.once != nil {
		why += " or that of an earlier device"
	}
	if h.zone != nil {
		comment = ";"
	}
	return fmt.Appendf(b, "%s left out: %d devices %s\n", comment, h.left, why)
}
