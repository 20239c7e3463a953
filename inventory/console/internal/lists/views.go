package lists

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/ashlar-go/ashlar/inventory/site"
)

// views is the menu of the saved views of a list.
type views struct {
	Action  string
	Query   string // the view that the form saves, as the parameters of the API
	Back    string // the parameters of its address
	Name    string // that was refused
	Problem string
	Share   bool // whether the sender may save everybody's
	All     []*savedView
	Current string
}

// savedView is a view in a response of the API.
type savedView struct {
	ID, Name, Query     string
	Everybody, Editable bool
	URL                 string `json:"-"`
	Current             bool   `json:"-"`
}

// views returns the menu, nil if the API has no views.
func (v *view) views() (*views, error) {
	var page struct {
		Data  []*savedView
		Share bool
	}
	err := v.Get("/views", url.Values{"resource": {v.resource.Name}}, &page)
	if _, refused := site.AsFault(err); refused || v.API.Users() == nil {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	state := v.state()
	m := &views{Action: v.ListURL(v.resource.Name) + "/views", Back: state.Encode(), All: page.Data, Share: page.Share}
	state.Del(columnParam)
	state.Del(panelParam)
	state.Set("fields", strings.Join(v.names(), ","))
	m.Query = state.Encode()
	for _, saved := range m.All {
		shown, _ := url.ParseQuery(saved.Query) // the API has checked it
		saved.Current = shown.Encode() == m.Query
		if fields := shown.Get("fields"); fields != "" {
			shown[columnParam] = strings.Split(fields, ",")
		}
		shown.Del("fields")
		if saved.URL = v.address(shown); saved.Current {
			m.Current = saved.Name
		}
	}
	return m, nil
}

// changeViews saves a view of a list, or deletes one. What the API refuses is shown in the list.
func changeViews(q *site.Request) error {
	r, err := q.Resource()
	if err != nil {
		return err
	}
	form, call := q.R.PostFormValue, &site.Call{Method: http.MethodPost, Path: "/views"}
	if id := form("delete"); id != "" {
		call.Method, call.Path = http.MethodDelete, "/views/"+url.PathEscape(id)
	} else {
		call.Body = map[string]any{"resource": r.Name, "name": form("name"), "query": form("query"), "everybody": form("everybody") != ""}
	}
	done := map[string]string{http.MethodPost: "saved", http.MethodDelete: "deleted"}[call.Method]
	_, err = q.Do(call, nil)
	fault, refused := site.Refused(err)
	if err != nil && !refused {
		return err
	}
	back, parsed := url.ParseQuery(form("back"))
	if parsed != nil {
		back = url.Values{}
	}
	if !refused {
		back.Set(doneParam, done)
		return q.Redirect("/r/" + r.Name + "?" + back.Encode())
	}
	list := *q
	list.R = q.R.Clone(q.R.Context())
	list.R.URL.RawQuery = back.Encode()
	return showListWith(&list, &views{Name: form("name"), Problem: fault.Error()}, fault.Status)
}
