package browsertest_test

import (
	"bytes"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
)

// visitor is a user of the console with a browser without JavaScript, which is faster than a real one. The server
// has the token of the user.
type visitor struct {
	*consoleServer
	name   string
	client *http.Client
}

// visit signs a user in. Without a name nobody is signed in.
func (s *consoleServer) visit(name string) *visitor {
	s.t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(s.t, err)
	v := &visitor{s, name, &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	if name == "" {
		return v
	}
	v.consoleServer = s.as(name)
	f := v.get("/console/signin").form("/console/signin")
	f.values.Set("username", name)
	f.values.Set("password", consolePassword)
	require.Equal(s.t, http.StatusSeeOther, v.submit(f).status)
	return v
}

// reply is a response to a visitor.
type reply struct {
	address  string
	status   int
	location string
	text     string
	root     *html.Node
}

func (v *visitor) do(method, address, kind string, body io.Reader) *reply {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), method, v.url+address, body)
	require.NoError(v.t, err)
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	response, err := v.client.Do(r)
	require.NoError(v.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(v.t, err)
	page := text
	if !strings.HasPrefix(response.Header.Get("Content-Type"), "text/html") {
		page = nil // a file
	}
	root, err := html.Parse(bytes.NewReader(page))
	require.NoError(v.t, err)
	return &reply{address, response.StatusCode, response.Header.Get("Location"), string(text), root}
}

func (v *visitor) get(address string) *reply {
	v.t.Helper()
	return v.do(http.MethodGet, address, "", nil)
}

// sending is a form of a page, with one of its buttons.
type sending struct {
	action, button string
	files          bool
	values         url.Values
}

// submit sends a form.
func (v *visitor) submit(f *sending) *reply {
	v.t.Helper()
	if !f.files {
		return v.do(http.MethodPost, f.action, "application/x-www-form-urlencoded", strings.NewReader(f.values.Encode()))
	}
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for _, name := range slices.Sorted(maps.Keys(f.values)) { // "_token" is the first one
		for _, value := range f.values[name] {
			require.NoError(v.t, w.WriteField(name, value))
		}
	}
	require.NoError(v.t, w.Close())
	return v.do(http.MethodPost, f.action, w.FormDataContentType(), &body)
}

// formToken returns the token of the forms of a visitor.
func (v *visitor) formToken() string {
	v.t.Helper()
	return v.get("/console/account").form("/console/signout").values.Get("_token")
}

// form returns the form of a page that is sent to an address.
func (d *reply) form(action string) *sending {
	all := d.forms()
	return all[slices.IndexFunc(all, func(f *sending) bool { return f.action == action })]
}

// attribute returns an attribute of an element, and whether it has it.
func attribute(n *html.Node, name string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val, true
		}
	}
	return "", false
}

// value is attribute without the second result.
func value(n *html.Node, name string) string {
	text, _ := attribute(n, name)
	return text
}

// elements calls f for the elements of a document.
func (d *reply) elements(f func(*html.Node)) {
	for n := range d.root.Descendants() {
		if n.Type == html.ElementNode {
			f(n)
		}
	}
}

// links returns the addresses that a page leads to or loads, in the console and without its files.
func (d *reply) links() (all []string) {
	d.elements(func(n *html.Node) {
		for _, name := range []string{"href", "hx-get", "data-pick", "data-chart", "data-source"} {
			link, err := url.Parse(value(n, name))
			if err != nil || n.Data == "link" || value(n, name) == "" {
				continue
			}
			from, _ := url.Parse(d.address) // it has been opened
			link = from.ResolveReference(link)
			link.Fragment = ""
			if own := value(n, "name"); name == "hx-get" && own != "" { // htmx adds what has been typed
				link.RawQuery = url.Values{own: {"a"}}.Encode()
			}
			all = append(all, link.String())
		}
	})
	return slices.DeleteFunc(all, func(link string) bool {
		return !strings.HasPrefix(link, "/console/") || strings.HasPrefix(link, "/console/assets/")
	})
}

// forms returns the forms of a page that change something, once for each of their buttons, with the values that
// they have as they are. Of a list the first record is selected.
func (d *reply) forms() (all []*sending) {
	controls := map[*html.Node][]*html.Node{}
	byID := map[string]*html.Node{}
	var forms []*html.Node
	d.elements(func(n *html.Node) {
		if n.Data == "form" {
			forms = append(forms, n)
			if id := value(n, "id"); id != "" {
				byID[id] = n
			}
		}
	})
	d.elements(func(n *html.Node) {
		owner := byID[value(n, "form")]
		for at := n.Parent; at != nil && owner == nil; at = at.Parent {
			if at.Data == "form" {
				owner = at
			}
		}
		if owner != nil {
			controls[owner] = append(controls[owner], n)
		}
	})
	for _, n := range forms {
		if value(n, "method") != "post" {
			continue
		}
		values, buttons := valuesOf(controls[n])
		for _, button := range buttons {
			f := &sending{value(n, "action"), value(button, "name") + "=" + value(button, "value"), value(n, "enctype") != "", url.Values{}}
			for name, v := range values {
				f.values[name] = v
			}
			if name := value(button, "name"); name != "" {
				f.values.Set(name, value(button, "value"))
			}
			all = append(all, f)
		}
	}
	return all
}

// valuesOf returns the values of controls, and the buttons among them.
func valuesOf(controls []*html.Node) (url.Values, []*html.Node) {
	values, selected := url.Values{}, false
	var buttons []*html.Node
	for _, c := range controls {
		name, text := value(c, "name"), value(c, "value")
		_, checked := attribute(c, "checked")
		_, selects := attribute(c, "data-select")
		switch kind := value(c, "type"); {
		case c.Data == "button" && kind != "button":
			buttons = append(buttons, c)
		case name == "" || kind == "file":
		case selects && !selected:
			selected = true
			values.Add(name, text)
		case kind == "checkbox" || kind == "radio":
			if checked {
				values.Add(name, text)
			}
		case c.Data == "input":
			values.Add(name, text)
		case c.Data == "textarea" && c.FirstChild != nil:
			values.Add(name, strings.TrimPrefix(c.FirstChild.Data, "\n"))
		case c.Data == "select":
			for o := range c.Descendants() {
				if _, chosen := attribute(o, "selected"); chosen || o.Data == "option" && !values.Has(name) {
					values.Set(name, value(o, "value"))
				}
			}
		}
	}
	return values, buttons
}

var ids = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}`)

// kind returns an address without its values: pages of one kind have the same code.
func kind(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	names := slices.Sorted(maps.Keys(u.Query()))
	return ids.ReplaceAllString(u.Path, "{id}") + "?" + strings.Join(names, "&")
}

// walk opens the pages that a visitor can reach from some, one of each kind and a bounded number with each path.
func (v *visitor) walk(check func(*reply), starts ...string) (seen []*reply) {
	v.t.Helper()
	const each = 3
	opened, paths := map[string]bool{}, map[string]int{}
	for queue := starts; len(queue) > 0; queue = queue[1:] {
		of := kind(queue[0])
		path, _, _ := strings.Cut(of, "?")
		if opened[of] || paths[path] == each {
			continue
		}
		opened[of] = true
		paths[path]++
		d := v.get(queue[0])
		check(d)
		seen = append(seen, d)
		queue = append(queue, d.links()...)
		if d.location != "" {
			queue = append(queue, d.location)
		}
	}
	return seen
}
