package lists

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/inventory/site"
)

// exportLinks are the formats in which a view is exported.
type exportLinks struct {
	Title string
	Links []site.Choice
	Pages bool // not files
}

const formatParam = "format"

// formats are the formats of the API that are files.
var formats = []site.Choice{{Label: "CSV", Value: "csv"}, {Label: "JSON lines", Value: "jsonl"}, {Label: "YAML", Value: "yaml"}}

// exports returns the links to export the view: the columns that it shows, or all fields.
func (v *view) exports() []exportLinks {
	all := []exportLinks{{Title: "The columns shown"}, {Title: "All fields"}}
	for i, columns := range [][]string{v.names(), nil} {
		state := v.state()
		state.Del("limit")
		if state.Del(columnParam); columns != nil {
			state[columnParam] = columns
		}
		for _, f := range formats {
			state.Set(formatParam, f.Value)
			f.URL = v.ListURL(v.resource.Name) + "/export?" + state.Encode()
			all[i].Links = append(all[i].Links, f)
		}
	}
	also := exportLinks{Title: "For other programs", Pages: true}
	for _, o := range v.Exports {
		if o.Show(v.Request, v.resource) {
			also.Links = append(also.Links, site.Choice{Label: o.Label, URL: v.UI.URL(o.Path(v.resource)) + "?" + v.without("page", "cursor").Encode()})
		}
	}
	if len(also.Links) > 0 {
		all = append(all, also)
	}
	return all
}

// export serves all records of a view as a file.
func export(q *site.Request) error {
	v, err := parseView(q)
	if err != nil {
		return err
	}
	query := v.apiQuery()
	format := q.R.URL.Query().Get(formatParam)
	if !slices.ContainsFunc(formats, func(c site.Choice) bool { return c.Value == format }) {
		return httpx.Errorf(http.StatusBadRequest, "format must be csv, jsonl or yaml")
	}
	query.Set(formatParam, format)
	if v.chosen {
		query.Set("fields", strings.Join(v.names(), ","))
	}
	name := v.resource.Name + "-" + time.Now().UTC().Format("2006-01-02") + "." + format
	return q.Forward(&site.Call{Path: "/" + v.resource.Name, Query: query}, http.Header{"Content-Disposition": {`attachment; filename="` + name + `"`}})
}
