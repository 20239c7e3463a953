package console_test

import (
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// shown returns the numbers of a page of a change of all records, by their labels.
func shown(text string) map[string]string {
	all := map[string]string{}
	for _, m := range regexp.MustCompile(`<dt>([^<]+)</dt><dd>([^<]+)</dd>`).FindAllStringSubmatch(text, -1) {
		all[m[1]] = m[2]
	}
	return all
}

// TestChangeAll: all records that match are changed by filter, after a dry run that counts them and says why some are refused;
// one that does not match any more is left alone. A change goes on where it was stopped.
func TestChangeAll(t *testing.T) {
	p := openLibrary(t)
	var books []string
	for i := range 350 {
		books = append(books, fmt.Sprintf(`{"title":"Book %03d","pages":%d,"lent":%t,"text":"old"}`, i, 100+i%2, i < 330))
	}
	status, _, text := p.send("POST", "/books", "application/json", "["+strings.Join(books, ",")+"]")
	require.Equal(t, 201, status, text)
	first := func(query string) map[string]any { return p.get("/books?" + query)["data"].([]any)[0].(map[string]any) }
	count := func(query string) float64 {
		return p.get("/books?" + query)["meta"].(map[string]any)["total_count"].(float64)
	}
	done := first("title=Book+000")["id"].(string)
	status, _, text = p.send("PATCH", "/books/"+done, "application/json", `{"text":"new"}`)
	require.Equal(t, 200, status, text)

	status, _, list := p.send("GET", "/console/r/books?lent=true", "", "")
	require.Equal(t, 200, status)
	require.Contains(t, list, `name="_all" value="lent=true"`)
	require.Contains(t, list, "Select all 330 books that match")
	action := "/console/r/books/bulk"
	status, _, ask := p.submitPage(list, action, url.Values{"do": {"edit"}, "_all": {"lent=true"}, "_words": {"Lent is yes"}})
	require.Equal(t, 200, status, ask)
	require.Contains(t, ask, "330 books: Lent is yes")
	status, _, preview := p.submitPage(ask, action, url.Values{"_set": {"text"}, "text": {"new"}, "_step": {"preview"}})
	require.Equal(t, 200, status, preview)
	require.Equal(t, map[string]string{"Would be changed": "329", "Have these values already": "1", "Refused": "0"}, shown(preview))
	require.Equal(t, 1.0, count("text=new"), "a dry run")

	// One is returned after the preview, and does not match any more.
	gone := first("title=Book+200")["id"].(string)
	p.send("PATCH", "/books/"+gone, "application/json", `{"lent":false}`)
	status, _, stopped := p.submitPage(preview, action, url.Values{"_step": {"apply"}, "_stop": {"1"}})
	require.Equal(t, 200, status, stopped)
	require.Contains(t, stopped, "Stopped after 0 of 330")
	require.Equal(t, 1.0, count("text=new"))
	status, _, result := p.submitPage(stopped, action, url.Values{})
	require.Equal(t, 200, status, result)
	require.Equal(t, map[string]string{"changed": "328", "Have these values already": "1", "Refused": "0", "Changed by others and do not match any more": "1"}, shown(result))
	require.Equal(t, 329.0, count("text=new"))
	require.Equal(t, "old", p.get("/books/" + gone)["text"])

	requests := map[string]bool{}
	for cursor := ""; ; {
		page := p.get("/audit-logs?action=update&resource_type=book&limit=100&cursor=" + cursor)
		for _, e := range page["data"].([]any) {
			if e := e.(map[string]any); e["changes"].(map[string]any)["text"] != nil && e["resource_id"] != done {
				requests[e["request_id"].(string)] = true
			}
		}
		next, more := page["meta"].(map[string]any)["next_cursor"].(string)
		if cursor = url.QueryEscape(next); !more || next == "" {
			break
		}
	}
	require.Len(t, requests, 1, "one row of the audit log")

	// All are refused, and none is changed.
	status, _, ask = p.submitPage(list, action, url.Values{"do": {"edit"}, "_all": {""}})
	require.Equal(t, 200, status)
	status, _, preview = p.submitPage(ask, action, url.Values{"_set": {"pages"}, "pages": {"9001"}, "_step": {"preview"}})
	require.Equal(t, 200, status)
	require.Equal(t, map[string]string{"Would be changed": "0", "Have these values already": "0", "Refused": "350"}, shown(preview))
	require.Contains(t, preview, "<li>")

	// All that match are deleted.
	hall := p.make("halls", `{"name":"Main"}`)
	kept := p.make("shelves", `{"name":"A","hall_id":"`+hall+`"}`)
	p.make("shelves", `{"name":"B"}`)
	p.make("books", `{"title":"On a shelf","shelf_id":"`+kept+`"}`)
	_, _, list = p.send("GET", "/console/r/shelves", "", "")
	status, _, preview = p.submitPage(list, "/console/r/shelves/bulk", url.Values{"do": {"delete"}, "_all": {""}})
	require.Equal(t, 200, status, preview)
	require.Equal(t, map[string]string{"Would be deleted": "1", "Refused": "1"}, shown(preview))
	status, _, result = p.submitPage(preview, "/console/r/shelves/bulk", url.Values{"_step": {"apply"}})
	require.Equal(t, 200, status, result)
	require.Equal(t, map[string]string{"deleted": "1", "Refused": "1"}, shown(result))
	require.Contains(t, result, `href="/console/r/shelves/`+kept)

	for _, form := range []url.Values{{"_all": {strings.Repeat("x", 9000)}}, {"_all": {""}, "_so_far": {"{"}}, {"_all": {"lent=perhaps"}}, {"_all": {"nothing=1"}}} {
		form.Set("do", "edit")
		status, _, text = p.submitPage(list, action, form)
		require.Equal(t, 400, status, text)
	}
}

// TestChangeAllSets: a record whose connections are refused is refused itself, and keeps no other from its change.
func TestChangeAllSets(t *testing.T) {
	c, api := pagesOf(t, records.NewMemStore(inventory.Schema()))
	mux := http.NewServeMux()
	mux.Handle("/r/", c)
	mux.Handle("/", api)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	p := &pages{t: t, url: server.URL, client: &http.Client{Jar: jar}}
	device, vlan := p.make("devices", `{"hostname":"sw1"}`), p.make("vlans", `{"vlan_id":10,"name":"data"}`)
	for _, name := range []string{"a", "b"} {
		p.make("interfaces", `{"device_id":"`+device+`","name":"`+name+`","mode":"trunk"}`)
	}
	const missing = "ff8f4c2e-7b1a-7c3d-9e4f-5a6b7c8d9e0f"
	_, _, list := p.send("GET", "/r/interfaces", "", "")
	for wanted, want := range map[string]map[string]string{
		missing: {"Would be changed": "0", "Have these values already": "0", "Refused": "2"},
		vlan:    {"Would be changed": "2", "Have these values already": "0", "Refused": "0"},
	} {
		status, _, text := p.submitPage(list, "/r/interfaces/bulk", url.Values{"do": {"edit"}, "_all": {""}, "_set": {"tagged_vlans"}, "tagged_vlans": {vlan, wanted}, "_step": {"preview"}})
		require.Equal(t, 200, status, text)
		require.Equal(t, want, shown(text))
	}
}
