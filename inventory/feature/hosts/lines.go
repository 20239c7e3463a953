package hosts

import (
	"fmt"
	"net/http"
	"strings"

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
		func() *hostLines { return &hostLines{comment: "#", format: "%[1]s\t%[2]s\n"} })
}

// sshConfig serves devices as hosts of a configuration of ssh.
func sshConfig() feature.Operation {
	return plainLines("/sd/ssh", "listSSHHosts", "List devices as hosts of a configuration of ssh", "A block Host for each device.",
		func() *hostLines {
			return &hostLines{comment: "#", format: "Host %[2]s\n    HostName %[1]s\n", once: map[string]bool{}}
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

// zoneFile serves devices as address records of a DNS zone.
func zoneFile() feature.Operation {
	origin := openapi.BoundedString(1, 254)
	ttl := openapi.Integer("", 0)
	ttl.Maximum = new(float64(maxTTL))
	return feature.Operation{
		Operation: openapi.Operation{
			Path: "/sd/zone", ID: "listZone", Summary: "List devices as address records of a DNS zone, to be included in it",
			Parameters: []openapi.Parameter{
				{Name: "origin", Required: true, Schema: origin, Description: "The domain of the zone, such as example.org."},
				{Name: "ttl", Schema: ttl, Description: "The TTL of the records in seconds. Default: 3600."},
			},
			Responses: []openapi.Response{{Status: http.StatusOK, Schema: openapi.String("$ORIGIN, $TTL, and a record A or AAAA on each line."), ContentType: "text/dns"}},
		},
		Handle: serve(zoneText, zone),
	}
}

// zone returns the text that the parameters ask for.
func zone(r *feature.Request) (document, bool, error) {
	origin := strings.ToLower(strings.TrimSuffix(r.Query.Get("origin"), "."))
	if !isHostName(origin) {
		return nil, false, records.Refuse("origin", records.BadFormat("a domain such as example.org"))
	}
	ttl, err := r.Number("ttl", 0, maxTTL, defaultTTL)
	if err != nil {
		return nil, false, err
	}
	head := fmt.Sprintf("$ORIGIN %s.\n$TTL %d\n", origin, ttl)
	return &hostLines{
		head: head, comment: ";", maxName: 253 - len(origin) - 1,
		format: "%[2]s\tIN\t%[3]s\t%[1]s\n",
		name: func(name string) string {
			if name == origin {
				return "@" // the domain itself
			}
			return strings.TrimSuffix(name, "."+origin)
		},
	}, false, nil
}

// hostLines is a text with lines for each device that has an address and a hostname which is a host name.
// No other characters of a record are in it.
type hostLines struct {
	head, comment string
	format        string                   // of the lines of a device: with its address, its name, and A or AAAA
	name          func(name string) string // changes a name in lower case; nil for none
	maxName       int                      // the maximum length of a name; 0 for none
	once          map[string]bool          // the names that are taken, if only the first device gets one
	left          int                      // the devices that are left out
}

func (h *hostLines) begin(b []byte) []byte { return append(b, h.head...) }

func (h *hostLines) kept() int64 { return 128 * int64(len(h.once)) }

func (h *hostLines) device(b []byte, d *inventory.Device, _ *inventory.Location) []byte {
	name := strings.ToLower(d.Hostname)
	valid := isHostName(name) && isAddress(d.IP)
	if valid && h.name != nil {
		name = h.name(name)
	}
	if !valid || h.maxName > 0 && len(name) > h.maxName || h.once[name] {
		h.left++
		return b
	}
	if h.once != nil {
		h.once[name] = true
	}
	kind := "A"
	if strings.Contains(d.IP, ":") {
		kind = "AAAA"
	}
	return fmt.Appendf(b, h.format, d.IP, name, kind)
}

func (h *hostLines) end(b []byte) []byte {
	if h.left == 0 {
		return b
	}
	why := "without an address, or whose hostname is no host name"
	if h.once != nil {
		why += " or that of an earlier device"
	}
	return fmt.Appendf(b, "%s left out: %d devices %s\n", h.comment, h.left, why)
}
