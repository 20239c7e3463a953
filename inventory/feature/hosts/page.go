package hosts

import (
	"embed"
	"fmt"
	"net/url"
	"strings"

	"github.com/ashlar-go/ashlar/httpx/ui"
	"github.com/ashlar-go/ashlar/inventory/feature"
	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/site"
)

//go:embed templates/*.html assets/*
var files embed.FS

// tool is a document on the page for other programs: its address for the devices of a list, and how a program reads it.
type tool struct{ Name, Help, URL, Use string }

// curl reads a document of which nothing else is known.
const curl = "curl -fsS -H \"Authorization: Bearer $TOKEN\" \\\n  '%s'"

// tools describe the documents by their path.
var tools = map[string]tool{
	"/sd/prometheus": {Name: "Prometheus", Help: "Targets, in the configuration of a job", Use: "http_sd_configs:\n  - url: '%s'\n    authorization:\n      credentials_file: /etc/prometheus/inventory-token"},
	"/sd/ansible":    {Name: "Ansible", Help: "A dynamic inventory: an executable file that ansible-playbook -i names", Use: "#!/bin/sh\nexec " + curl},
	"/sd/hosts":      {Name: "hosts", Help: "Lines for /etc/hosts", Use: curl},
	"/sd/zone":       {Name: "DNS", Help: "Records for $INCLUDE in the file of a zone, also of one such as 2.0.192.in-addr.arpa with the parameter domain. inventoryctl nsupdate brings changes to a name server.", Use: curl + " -o inventory.zone"},
	"/sd/kea":        {Name: "Kea", Help: "A configuration with reservations of ports by their MAC addresses, for each subnet; with family=6 for DHCPv6", Use: curl + " |\n  jq .Dhcp4.subnet4 > /etc/kea/inventory-subnets.json\n# in kea-dhcp4.conf: \"subnet4\": <?include \"/etc/kea/inventory-subnets.json\"?>"},
	"/sd/dnsmasq":    {Name: "dnsmasq", Help: "A host-record for each device and a dhcp-host for each port with a MAC address", Use: curl + " -o /etc/dnsmasq.d/inventory"},
	"/sd/ssh":        {Name: "ssh", Help: "Hosts, for Include in ~/.ssh/config", Use: curl + " -o ~/.ssh/inventory"},
}

// toolsPage is the data of the page.
type toolsPage struct {
	Total        int64
	List, Token  string // the addresses of the list, and of the page of one's tokens
	Filters      []site.Choice
	Origin, Port string
	Tools        []tool
}

// pages returns the page with the addresses of all documents.
func pages(operations []feature.Operation) site.Pages {
	may := func(q *site.Request) bool { return q.May("devices", records.RouteList) }
	return site.Pages{Files: files, Style: "style-tools.css", Routes: []site.Route{
		{Pattern: "GET /tools", Handle: func(q *site.Request) error { return showTools(q, operations) }},
	}, Exports: []site.Offer{{
		Label: "Ansible, Prometheus, DNS, ssh", Icon: "link", Path: func(*records.Resource) string { return "/tools" },
		Show: func(q *site.Request, r *records.Resource) bool { return r.Name == "devices" && may(q) },
	}}}
}

// showTools shows the addresses of the documents about the devices that a list has.
func showTools(q *site.Request, operations []feature.Operation) error {
	filters := q.R.URL.Query()
	p := &toolsPage{Origin: filters.Get("origin"), Port: filters.Get("port")}
	for _, name := range []string{"origin", "port", "page", "limit", "cursor", "count", "fields", "sortby", "sort", "column", "done", "format"} {
		filters.Del(name)
	}
	counted, err := q.List("devices", filters)
	if err != nil {
		return err
	}
	p.Total, p.List = counted.Meta.Total, q.ListURL("devices")+"?"+filters.Encode()
	for name, values := range filters {
		for _, value := range values {
			p.Filters = append(p.Filters, site.Choice{Label: name, Value: value})
		}
	}
	if q.Account != "" {
		p.Token = q.UI.URL(q.Account) + "?token=Export+of+devices#account-tokens"
	}
	base := url.URL{Scheme: "http", Host: q.R.Host, Path: "/"}
	if ui.OverTLS(q.R) {
		base.Scheme = "https"
	}
	for _, link := range q.Extra {
		if above, ok := strings.CutSuffix(link.URL, "docs/"); ok && link.Label == "API" {
			base.Path = above
		}
	}
	for _, op := range operations {
		t, ok := tools[op.Path]
		if !ok {
			t = tool{Name: op.Summary, Use: curl}
		}
		query := url.Values{}
		for _, parameter := range op.Parameters {
			if value := map[string]string{"origin": p.Origin, "port": p.Port}[parameter.Name]; value != "" {
				query.Set(parameter.Name, value)
			} else if parameter.Required {
				query.Set(parameter.Name, "example.org")
			}
		}
		for name, values := range filters {
			query[name] = values
		}
		at := base.JoinPath(op.Path)
		at.RawQuery = query.Encode()
		t.URL, t.Use = at.String(), fmt.Sprintf(t.Use, strings.ReplaceAll(at.String(), "'", "%27"))
		p.Tools = append(p.Tools, t)
	}
	return q.Page("tools.html", "Export for tools", p)
}
