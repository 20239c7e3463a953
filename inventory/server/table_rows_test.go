package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"
)

// list is a list of records with filters, each "field=value" with a value that needs no
// quotes in SQL, and an order.
type list struct {
	table   string
	filters [][2]string
	sort    string
}

// path returns the request of the first page.
func (l *list) path() string {
	values := url.Values{"limit": {"20"}}
	for _, f := range l.filters {
		values.Set(f[0], f[1])
	}
	if l.sort != "" {
		values.Set("sortby", l.sort)
	}
	return "/" + strings.ReplaceAll(l.table, "_", "-") + "?" + values.Encode()
}

// name returns the list for people.
func (l *list) name() string {
	var parts []string
	for _, f := range l.filters {
		parts = append(parts, f[0]+"="+f[1])
	}
	text := strings.ReplaceAll(l.table, "_", "-") + " " + strings.Join(parts, " ")
	if l.sort != "" {
		text += " by " + l.sort
	}
	return text
}

// where returns the condition of the filters in SQL.
func (l *list) where() string {
	var all []string
	for _, f := range l.filters {
		all = append(all, f[0]+" = '"+strings.ReplaceAll(f[1], "'", "''")+"'")
	}
	return strings.Join(append(all, "1 = 1"), " AND ")
}

// measureList is measure for a list. Its total must be that of the database.
func (x *measured) measureList(bar float64, l *list) float64 {
	x.t.Helper()
	median, p := x.measure(l.name(), bar, l.table, l.path())
	x.checkTotal(l, p)
	return median
}

func (x *measured) checkTotal(l *list, p *page) {
	x.t.Helper()
	if p == nil {
		return
	}
	n := x.count(l.table + " WHERE " + l.where())
	require.EqualValues(x.t, n, p.Meta.Total, l.name())
	require.Len(x.t, p.Data, min(n, 20), l.name())
}

// namedLists are the lists of the table with names, besides the exhaustive ones.
func namedLists() []*list {
	return []*list{
		{"devices", nil, ""},
		{"devices", [][2]string{{"status", "active"}}, "hostname:asc"},
		{"interfaces", [][2]string{{"status", "up"}, {"type", "copper"}}, ""},
		{"devices", [][2]string{{"vendor", "Cisco"}, {"status", "active"}}, "hostname:asc"},
		{"interfaces", [][2]string{{"speed_mbps", "1000"}, {"status", "up"}}, "name:asc"},
		{"devices", [][2]string{{"role", "access"}, {"os", "Junos"}}, "ip:asc"},
		{"interfaces", [][2]string{{"mode", "trunk"}, {"oper_status", "down"}}, "mac_address:desc"},
		{"devices", nil, "updated_at:desc"},
		{"devices", nil, "created_at:desc"},
		{"interfaces", nil, "name:desc"},
	}
}

func (x *measured) lists() {
	x.t.Helper()
	for _, l := range namedLists() {
		x.measureList(5, l)
	}
	x.measure("interfaces by device and name", 5, "interfaces", "/interfaces?limit=20&sortby=device_id:asc&sortby=name:asc")
	x.networks()
}

func (x *measured) searches() {
	x.t.Helper()
	for _, word := range []string{frequentWord, rareWord, absentWord, "te", absentPair} {
		path := "/devices?limit=20&q=" + word
		begin := time.Now()
		x.get(path) // later the total is known
		x.row("devices q="+word+", the first time", 20, times{time.Since(begin)}, 0, 0, 0)
		_, p := x.measure("devices q="+word, 20, "devices", path)
		switch {
		case p == nil:
		case word == absentWord || word == absentPair:
			require.Zero(x.t, p.Meta.Total)
		case word == rareWord:
			require.EqualValues(x.t, x.count("devices WHERE notes LIKE '%"+rareWord+"%'"), p.Meta.Total)
		default:
			require.GreaterOrEqual(x.t, p.Meta.Total, int64(x.sizes.devices)/3)
		}
	}
	x.measure("interfaces q="+absentWord, 20, "interfaces", "/interfaces?limit=20&q="+absentWord)
}

// searchAll measures searches over all records: of values that one device has, and of words.
func (x *measured) searchAll() {
	x.t.Helper()
	host := x.query("SELECT hostname, serial_number, ip, mac_address FROM devices JOIN interfaces ON device_id = devices.id WHERE ip_address = '' ORDER BY devices.id DESC LIMIT 1")[0]
	mac := strings.ReplaceAll(strings.ToUpper(host[3].(string)), ":", "-")
	for _, row := range []struct {
		name, text string
		first      string // the resource of the first result, empty for none
	}{
		{"hostname", host[0].(string), "devices"},
		{"serial number", host[1].(string), "devices"},
		{"IP address", host[2].(string), "devices"},
		{"network", host[2].(string) + "/32", "devices"},
		{"MAC address", mac, "interfaces"},
		{"part of a hostname", host[0].(string)[:5], "devices"},
		{"interface name", "GigabitEthernet0/1", "interfaces"},
		{"frequent word", frequentWord, "devices"},
		{"rare word", rareWord, "devices"},
		{"absent word", absentWord, ""},
		{"tag", "production", "devices"},
	} {
		var results struct {
			Complete bool
			Data     []struct{ Resource, Match string }
		}
		path := "/search?q=" + url.QueryEscape(row.text)
		begin := time.Now()
		require.NoError(x.t, json.Unmarshal(x.get(path).Body.Bytes(), &results))
		first := time.Since(begin)
		x.row("search, "+row.name, 20, repeat(func() { x.get(path) }), 0, len(results.Data), 0)
		x.note("search, "+row.name, fmt.Sprintf("the first time %.1f ms, complete %v", first.Seconds()*1000, results.Complete))
		if row.first == "" {
			require.Empty(x.t, results.Data, row.text)
			continue
		}
		require.NotEmpty(x.t, results.Data, row.text)
		require.Equal(x.t, row.first, results.Data[0].Resource, row.text)
	}
}

// audit measures all pairs of the filters of one entry, and a frequent pair.
func (x *measured) audit() {
	x.t.Helper()
	names := []string{"action", "resource_type", "user_id", "actor", "ip_address", "request_id", "resource_id"}
	row := x.query("SELECT " + strings.Join(names, ", ") + " FROM audit_logs WHERE actor = 'user00' AND action = 'update' ORDER BY id LIMIT 1")[0]
	at := func(i int) [2]string { return [2]string{names[i], row[i].(string)} }
	x.measureList(10, &list{"audit_logs", [][2]string{at(5)}, ""})
	for i := range names {
		for j := range i {
			x.measureList(10, &list{"audit_logs", [][2]string{at(j), at(i)}, ""})
		}
	}
	// The most frequent pair whose number is not stored.
	row = x.query("SELECT user_id, ip_address, count(*) FROM audit_logs WHERE user_id IS NOT NULL AND ip_address <> '' GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT 1")[0]
	x.measureList(10, &list{"audit_logs", [][2]string{{"user_id", row[0].(string)}, {"ip_address", row[1].(string)}}, ""})
}

func (x *measured) metrics() {
	x.t.Helper()
	for query, total := range map[string]int{"": x.sizes.devices, "&latest=false": x.count("metrics")} {
		if _, p := x.measure("metrics"+query, 5, "metrics", "/metrics?limit=20"+query); p != nil {
			require.EqualValues(x.t, total, p.Meta.Total, query)
		}
	}
	x.measure("metrics by cpu", 0, "metrics", "/metrics?limit=20&sort=cpu:desc")
	x.measure("metrics/device/{id}", 1, "metrics", "/metrics/device/"+x.ids[len(x.ids)/2])
}

func (x *measured) summaries() {
	x.t.Helper()
	for _, by := range []string{"status", "vendor"} {
		path := "/summary?resource=devices&by=" + by
		w := x.send(x.Server, x.token, "GET", path, "")
		if w.Code == 404 {
			x.note(path[1:], "missing")
			continue
		}
		require.Equal(x.t, 200, w.Code, w.Body.String())
		x.row(path[1:], 1, repeat(func() { x.get(path) }), 0, 0, 0)
	}
	// What the panel of filters asks.
	for _, where := range []string{"", "status=offline", "status=active&vendor=Palo Alto", "last_seen__lt=-30d"} {
		path := "/summary?resource=devices&by=status,role,vendor,model,below,rack_id,tags&where=" + url.QueryEscape(where)
		x.row("panel, "+where, 20, repeat(func() { x.get(path) }), 0, 0, 0)
	}
}

// starvation measures GET of one device alone and while four users send expensive requests, with
// the default settings.
func (x *measured) starvation() {
	x.t.Helper()
	srv := x.open(map[string]string{})
	var tokens []string
	for i := range 4 {
		name := fmt.Sprintf("table%d", i)
		w := x.send(x.Server, x.token, "POST", "/users", `{"username":"`+name+`","email":"`+name+`@example.com","role":"viewer","password":"`+password+`"}`)
		require.Contains(x.t, []int{201, 409}, w.Code, w.Body.String())
		tokens = append(tokens, x.login(name))
	}
	length := 200 * time.Millisecond
	if *fullTable {
		length = 10 * time.Second
	}
	reads := func() times {
		var all times
		for end := time.Now().Add(length); time.Now().Before(end); {
			begin := time.Now()
			w := x.send(srv, x.token, "GET", "/devices/"+x.ids[len(all)%len(x.ids)], "")
			all = append(all, time.Since(begin))
			require.Equal(x.t, 200, w.Code, w.Body.String())
		}
		slices.Sort(all)
		return all
	}
	alone := reads()
	ctx, cancel := context.WithCancel(x.t.Context())
	var clients sync.WaitGroup
	var done, refused atomic.Int64
	for i, token := range tokens {
		clients.Go(func() {
			for n := i; ctx.Err() == nil; n++ {
				path := []string{"/metrics?limit=20", "/devices?limit=20&q=" + absentWord}[n%2]
				if w := x.send(srv, token, "GET", path, ""); w.Code == 200 {
					done.Add(1)
				} else {
					refused.Add(1)
				}
			}
		})
	}
	time.Sleep(length / 10)
	beside := reads()
	cancel()
	clients.Wait()
	x.row("GET one device, alone", 0, alone, 0, len(alone), 0)
	x.row("GET one device, beside 4 clients", 0, beside, alone.ms(50), len(beside), 0)
	x.note("p99 of these reads", fmt.Sprintf("%.2f ms alone, %.2f ms beside them, longest %.2f ms", alone.ms(99), beside.ms(99), beside.ms(100)))
	x.note("expensive requests of the 4 clients", fmt.Sprintf("%d answered, %d refused in %.0f s", done.Load(), refused.Load(), (length+length/10).Seconds()))
}

// growth compares the lists with those of another number of devices.
func (x *measured) growth(other *measured) {
	x.t.Helper()
	for _, l := range namedLists() {
		here, there := x.parse(x.get(l.path())), other.parse(other.get(l.path()))
		require.NotNil(x.t, here)
		require.NotNil(x.t, there)
		a, b := repeat(func() { x.get(l.path()) }).ms(50), repeat(func() { other.get(l.path()) }).ms(50)
		verdict := "met"
		if max(a, b)/min(a, b) > 3 {
			verdict = "OVER 3"
		}
		x.note("growth of "+l.name(), fmt.Sprintf("%d devices %.2f ms, %d devices %.2f ms, ratio %.2f: %s",
			other.sizes.devices, b, x.sizes.devices, a, a/b, verdict))
	}
}
