package hosts

import (
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/internal/inventory/zone"
	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/internal/encode"
	"github.com/ashlar-go/ashlar/inventory/openapi"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// metaPrefix begins the names of labels without a name of their own.
const metaPrefix = "__meta_ashlar_"

// maxLabels is the maximum number of labels that a request names.
const maxLabels = 100

// labelName is the form of the name of a label.
var labelName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]{0,99}$`)

// targets serves devices as targets of Prometheus.
func targets() feature.Operation {
	group := openapi.Object("TargetGroup",
		openapi.Required("targets", openapi.Array(openapi.String("A host, and the port if there is one."), 1, 1)),
		openapi.Required("labels", &openapi.Schema{Type: "object", AdditionalProperties: openapi.String("")}))
	return feature.Operation{Operation: openapi.Operation{
		Path: "/sd/prometheus", ID: "listTargets", Summary: "List devices as targets of Prometheus (http_sd)",
		Parameters: []openapi.Parameter{
			{Name: "port", Schema: openapi.String(""), Description: "The port of each target: a number, or the name of an integer field; devices without a value in it are left out. Default: none."},
			{Name: "address", Schema: openapi.String(""), Description: "The field with the address or host name of the target. Default: ip, or else hostname."},
			{Name: "labels", Schema: openapi.String(""), Description: "The fields to send, separated by commas: field for the label " + metaPrefix + "field, field:label for another name, location.field for a field of the location. Default: all but times and notes."},
		},
		Responses: []openapi.Response{{Status: http.StatusOK, Schema: openapi.Array(group, 0, 0)}},
	}, Handle: serve("application/json", func(r *feature.Request) (document, bool, error) {
		doc, err := newTargetList(r)
		return doc, err == nil && doc.located(), err
	})}
}

// targetList is a document of http_sd, with one group for each device.
type targetList struct {
	port      string         // the same for all; empty for none
	portField *records.Field // or the field that has it
	address   *records.Field // nil for ip or hostname
	labels    []targetLabel
	some      bool
}

// targetLabel is a label with the value of a field, of the location if location is set.
type targetLabel struct {
	name     string
	field    *records.Field
	location bool
}

// newTargetList returns the document that the parameters ask for.
func newTargetList(request *feature.Request) (*targetList, error) {
	schema, query := request.Inventory.Records().Schema(), request.Query
	r := records.Of[inventory.Device](schema)
	doc := &targetList{}
	if port := query.Get("port"); query.Has("port") {
		if n, err := strconv.ParseUint(port, 10, 16); err == nil && n > 0 {
			doc.port = strconv.FormatUint(n, 10)
		} else if f, ok := r.Field(port); ok && f.Kind == records.Int && f.Name != "version" {
			doc.portField = f
		} else {
			return nil, records.Refuse("port", records.BadFormat("a port from 1 to 65535, or the name of a field of devices with whole numbers"))
		}
	}
	if query.Has("address") {
		f, ok := r.Field(query.Get("address"))
		if !ok || f.Kind != records.Text || !f.Sortable() {
			return nil, records.Refuse("address", records.BadFormat("the name of a field of devices with text, such as hostname"))
		}
		doc.address = f
	}
	return doc, doc.setLabels(r, records.Of[inventory.Location](schema), query.Get("labels"), query.Has("labels"))
}

// setLabels sets the labels that the parameter names, or the default ones.
func (l *targetList) setLabels(devices, locations *records.Resource, text string, given bool) error {
	if !given {
		for _, f := range devices.Fields() {
			if isLabel(f) && f.Kind != records.Time && f.Name != "version" {
				l.labels = append(l.labels, targetLabel{metaPrefix + f.Name, f, false})
			}
		}
		text = "location.name,location.site_code"
	}
	parts := strings.Split(text, ",")
	if len(parts) > maxLabels {
		return records.Refuse("labels", records.TooMany(maxLabels, "labels"))
	}
	for _, part := range parts {
		source, name, renamed := strings.Cut(part, ":")
		field, location := strings.CutPrefix(source, "location.")
		of := devices
		if location {
			of = locations
		}
		f, ok := of.Field(field)
		if !ok || !isLabel(f) {
			return records.Refuse("labels", records.Wrong("unknown", "has no field %q: use fields of one line of %s, separated by commas", printable.Truncate(source, 64), of.Name))
		}
		if !renamed {
			name = metaPrefix + strings.ReplaceAll(source, ".", "_")
		}
		if !labelName.MatchString(name) || name == "__name__" || name == "__address__" {
			return records.Refuse("labels", records.Wrong("bad_format", "has the label %q: use letters, digits and underscores, and not __name__ or __address__", printable.Truncate(name, 64)))
		}
		if slices.ContainsFunc(l.labels, func(other targetLabel) bool { return other.name == name }) {
			if !given { // a custom field such as location_name
				continue
			}
			return records.Refuse("labels", records.Repeated())
		}
		l.labels = append(l.labels, targetLabel{name, f, location})
	}
	return nil
}

// isLabel reports whether the values of a field can be those of a label.
func isLabel(f *records.Field) bool {
	return f.Sortable() || f.Kind == records.List && !f.Hidden && !f.WriteOnly
}

// located reports whether the document has fields of locations.
func (l *targetList) located() bool {
	return slices.ContainsFunc(l.labels, func(label targetLabel) bool { return label.location })
}

func (l *targetList) begin(b []byte) []byte { return append(b, '[') }

func (l *targetList) kept() int64 { return 0 }

func (l *targetList) device(b []byte, d *inventory.Device, at *inventory.Location) []byte {
	target, ok := l.target(d)
	if !ok {
		return b
	}
	if l.some {
		b = append(b, ',')
	}
	l.some = true
	b = append(encode.String(append(b, "\n{\"targets\":["...), target), `],"labels":{`...)
	first := true
	for i := range l.labels {
		label := &l.labels[i]
		value := ""
		switch {
		case !label.location:
			value = labelValue(label.field, d)
		case at != nil:
			value = labelValue(label.field, at)
		}
		if value == "" { // for Prometheus, a label without a value is none
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(encode.String(b, label.name), ':')
		b = encode.String(b, value)
	}
	return append(b, "}}"...)
}

func (l *targetList) end(b []byte) []byte { return append(b, "\n]\n"...) }

// target returns the target of a device, if it has one.
func (l *targetList) target(d *inventory.Device) (string, bool) {
	host := d.IP
	switch {
	case l.address != nil:
		host, _ = l.address.Value(d).(string)
	case host == "":
		host = d.Hostname
	}
	if !isAddress(host) && !zone.IsHostName(host) {
		return "", false
	}
	port := l.port
	if l.portField != nil {
		n, ok := l.portField.Value(d).(int64)
		if !ok || n < 1 || n > 65535 {
			return "", false
		}
		port = strconv.FormatInt(n, 10)
	}
	switch {
	case port != "":
		return net.JoinHostPort(host, port), true
	case strings.Contains(host, ":"):
		return "[" + host + "]", true
	}
	return host, true
}

// labelValue returns the value of a label. The elements of a list stand between commas, so that a regular
// expression such as .*,core,.* finds one.
func labelValue(f *records.Field, rec records.Record) string {
	value := f.Value(rec)
	switch v := value.(type) {
	case string:
		return v
	case []string:
		if len(v) == 0 {
			return ""
		}
		return "," + strings.Join(v, ",") + ","
	case nil:
		return ""
	}
	b := encode.Value(nil, f, value)
	if len(b) > 0 && b[0] == '"' { // a time
		b = b[1 : len(b)-1]
	}
	return string(b)
}
