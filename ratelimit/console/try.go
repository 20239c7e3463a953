package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/httpx"
	"github.com/ashlar-go/ashlar/httpx/ui"
	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/explain"
)

// Bounds of a request of the page.
const (
	maxDescriptors = 4
	maxPairs       = 12
	maxText        = 1000 // bytes of a key or value
	maxSends       = 100
	sendTimeout    = 5 * time.Second
)

// fieldName returns the name of a field for the key ("k") or value ("v") of a pair of a descriptor.
func fieldName(descriptor, pair int, part string) string {
	return "d" + strconv.Itoa(descriptor) + part + strconv.Itoa(pair)
}

// pair is a key and a value in the form.
type pair struct {
	Key, Value           string
	KeyField, ValueField string
	Number               int // from 1
}

// tryPage is the page to try requests.
type tryPage struct {
	Domain      string
	Domains     []string
	Hits        string
	Descriptors [][]pair
	Query       string // of this page
	Explanation *explain.Explanation
	States      []ratelimit.CounterState
	Sent        *sending
	Failure     string
	MaySend     bool // whether there is something to send
	MayReset    bool
	MayAdd      bool // whether another descriptor fits
}

// share returns the used part of a limit in percent.
func share(s ratelimit.CounterState) float64 {
	if s.RequestsPerUnit == 0 {
		return 0
	}
	return min(100, 100*float64(s.Used)/float64(s.RequestsPerUnit))
}

// form reads the fields of the form. The request is nil if they are not complete.
func (c *Console) form(v url.Values) (*tryPage, *ratelimit.Request, error) {
	page := &tryPage{Domain: v.Get("domain"), Hits: v.Get("hits"), MayReset: c.reset != nil}
	for _, d := range c.current().domains[:min(len(c.current().domains), maxRows)] {
		page.Domains = append(page.Domains, d.Name)
	}
	r := &ratelimit.Request{Domain: page.Domain}
	if page.Hits != "" {
		n, err := strconv.ParseUint(page.Hits, 10, 32)
		if err != nil {
			return nil, nil, httpx.Errorf(http.StatusBadRequest, "hits: use a whole number from 0 to 4294967295")
		}
		r.HitsAddend = uint32(n)
	}
	kept := url.Values{"domain": {page.Domain}, "hits": {page.Hits}}
	for d := range maxDescriptors {
		var entries []ratelimit.Entry
		for i := range maxPairs {
			key, value := v.Get(fieldName(d, i, "k")), v.Get(fieldName(d, i, "v"))
			if len(key) > maxText || len(value) > maxText {
				return nil, nil, httpx.Errorf(http.StatusBadRequest, "keys and values have at most %d bytes here", maxText)
			}
			if key == "" && value == "" {
				continue
			}
			kept.Set(fieldName(d, len(entries), "k"), key)
			kept.Set(fieldName(d, len(entries), "v"), value)
			entries = append(entries, ratelimit.Entry{Key: key, Value: value})
		}
		if len(entries) > 0 {
			r.Descriptors = append(r.Descriptors, ratelimit.Descriptor{Entries: entries})
		}
	}
	page.Query = kept.Encode()
	page.setFields(r.Descriptors, v.Get("more"))
	if page.MaySend = page.Domain != "" && len(r.Descriptors) > 0; !page.MaySend {
		return page, nil, nil
	}
	return page, r, nil
}

// setFields lays out the fields: those of the descriptors, and an empty pair for each. more asks for another
// descriptor.
func (p *tryPage) setFields(descriptors []ratelimit.Descriptor, more string) {
	if len(descriptors) == 0 || more == "descriptor" && len(descriptors) < maxDescriptors {
		descriptors = append(descriptors, ratelimit.Descriptor{})
	}
	for d := range descriptors {
		entries := descriptors[d].Entries
		size := min(max(len(entries)+1, 2), maxPairs)
		fields := make([]pair, size)
		for i := range fields {
			fields[i] = pair{KeyField: fieldName(d, i, "k"), ValueField: fieldName(d, i, "v"), Number: i + 1}
			if i < len(entries) {
				fields[i].Key, fields[i].Value = entries[i].Key, entries[i].Value
			}
		}
		p.Descriptors = append(p.Descriptors, fields)
	}
	p.MayAdd = len(descriptors) < maxDescriptors
}

// try shows the form, and what the rules do with the request in it.
func (c *Console) try(w http.ResponseWriter, r *http.Request) error {
	page, request, err := c.form(r.URL.Query())
	if err != nil {
		return err
	}
	if request != nil {
		c.explain(r.Context(), page, request)
	}
	return c.tryPage(w, r, page)
}

// tryPage responds with the page, or with the form and the result for htmx.
func (c *Console) tryPage(w http.ResponseWriter, r *http.Request, page *tryPage) error {
	if ui.IsPart(r) {
		w.Header().Set("HX-Replace-Url", c.ui.URL("/try?"+page.Query))
		return c.part(w, r, "try.html", "try", page)
	}
	return c.page(w, r, http.StatusOK, "try.html", "Try requests", page)
}

// explain sets the explanation and the counters.
func (c *Console) explain(ctx context.Context, page *tryPage, request *ratelimit.Request) {
	rules := c.engine.Rules()
	if rules == nil {
		page.Failure = "No configuration is loaded."
		return
	}
	x, err := explain.Decision(rules, request, &explain.Options{
		Now: c.opts.Now(), CounterKeyPrefix: c.opts.CounterKeyPrefix, CounterKeyFormat: c.opts.CounterKeyFormat,
	})
	if err != nil {
		page.Failure = clientText(err)
		return
	}
	page.Explanation = x
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	if page.States, err = c.engine.Counters(ctx, request); err != nil {
		page.Failure = "The counters could not be read: " + clientText(err)
	}
}

// clientText returns the message of an error without its cause, which may name hosts.
func clientText(err error) string {
	if e, ok := errors.AsType[*ratelimit.Error](err); ok {
		return e.Message
	}
	if errors.Is(err, errors.ErrUnsupported) {
		return "the counter store lacks this operation"
	}
	return "internal error"
}

// sending is the result of requests that were sent.
type sending struct {
	Sent             int
	Allowed, Refused int
	Results          []bool // whether each request was allowed
	Before, After    []ratelimit.CounterState
	Last             *ratelimit.Status // the tightest limit of the last decision; nil without one
	RetryAfter       time.Duration
	Permits          bool // whether permits were held and released
	Failure          string
}

// send sends requests to the engine, as a client would.
func (c *Console) send(w http.ResponseWriter, r *http.Request) error {
	_ = r.ParseForm() // kit.Protect has read it
	page, request, err := c.form(r.PostForm)
	if err != nil {
		return err
	}
	n, _ := strconv.Atoi(r.PostForm.Get("n"))
	if request == nil || n < 1 || n > maxSends {
		return httpx.Errorf(http.StatusBadRequest, "Fill in the domain and a key, and send 1 to %d requests", maxSends)
	}
	select {
	case c.sending <- struct{}{}:
		defer func() { <-c.sending }()
	default:
		return httpx.Errorf(http.StatusServiceUnavailable, "Requests are being sent from another page: try again")
	}
	ctx, cancel := context.WithTimeout(r.Context(), sendTimeout)
	defer cancel()
	page.Sent = c.sendAll(ctx, request, n)
	c.explain(r.Context(), page, request)
	return c.tryPage(w, r, page)
}

// sendAll decides a request n times. Permits of concurrency limits are held until all are decided, so that the
// limit shows.
func (c *Console) sendAll(ctx context.Context, request *ratelimit.Request, n int) *sending {
	s := &sending{}
	s.Before, _ = c.engine.Counters(ctx, request) // shown if they can be read
	decisions := make([]ratelimit.Decision, n)
	for i := range decisions {
		d := &decisions[i]
		if err := c.engine.DecideInto(ctx, request, d); err != nil {
			s.Failure = clientText(err)
			break
		}
		s.Sent++
		ok := d.Code != ratelimit.OverLimit
		if s.Results = append(s.Results, ok); ok {
			s.Allowed++
		} else {
			s.Refused++
		}
		s.Last, s.RetryAfter = d.Tightest(), d.RetryAfter()
		s.Permits = s.Permits || slices.ContainsFunc(d.Statuses, func(s ratelimit.Status) bool {
			return s.Limited && s.Algorithm.HasPermits()
		})
	}
	s.After, _ = c.engine.Counters(ctx, request)
	for i := range decisions[:s.Sent] {
		_ = decisions[i].Release(context.WithoutCancel(ctx)) // permits that are not released expire
	}
	return s
}

// explainForm leads to the page that explains the request of the form, for browsers without JavaScript.
func (c *Console) explainForm(w http.ResponseWriter, r *http.Request) error {
	_ = r.ParseForm() // kit.Protect has read it
	page, _, err := c.form(r.PostForm)
	if err != nil {
		return err
	}
	to := page.Query
	if more := r.PostForm.Get("more"); more != "" {
		to += "&more=descriptor"
	}
	http.Redirect(w, r, c.ui.URL("/try?"+to), http.StatusSeeOther)
	return nil
}

// sentence makes a reason a sentence.
func sentence(reason string) string {
	if reason == "" {
		return ""
	}
	return strings.ToUpper(reason[:1]) + reason[1:] + "."
}

// secondsText writes seconds in the two largest units.
func secondsText(n uint32) string {
	switch {
	case n >= 86400:
		return fmt.Sprintf("%d d %d h", n/86400, n%86400/3600)
	case n >= 3600:
		return fmt.Sprintf("%d h %d min", n/3600, n%3600/60)
	case n >= 60:
		return fmt.Sprintf("%d min %d s", n/60, n%60)
	}
	return fmt.Sprintf("%d s", n)
}

// durationText writes a duration in a readable precision.
func durationText(d time.Duration) string {
	switch {
	case d < 10*time.Microsecond:
		return d.Round(10 * time.Nanosecond).String()
	case d < 10*time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	case d >= time.Minute:
		return secondsText(uint32(d / time.Second))
	}
	return d.Round(time.Millisecond).String()
}

// maxSuggestions bounds the suggestions of a field.
const maxSuggestions = 50

// suggest responds with suggestions for a field of the form: keys and values of the rules that are reached by the
// pairs before it.
func (c *Console) suggest(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	var d, i int
	var part string
	_, err := fmt.Sscanf(q.Get("field"), "d%1d%1s%d", &d, &part, &i)
	rules := c.engine.Rules()
	var found []string
	if err == nil && i < maxPairs && rules != nil {
		level := rules.Level(q.Get("domain"))
		for before := 0; before < i && !level.Empty(); before++ {
			rule := level.Match(ratelimit.Entry{Key: q.Get(fieldName(d, before, "k")), Value: q.Get(fieldName(d, before, "v"))})
			if level = (ratelimit.LevelView{}); rule != nil {
				level = rule.Next
			}
		}
		switch {
		case level.Empty():
		case part == "k":
			found = level.Keys()
		default:
			found = level.Values(q.Get(fieldName(d, i, "k")))
		}
	}
	typed := strings.ToLower(q.Get(q.Get("field")))
	found = slices.DeleteFunc(found, func(s string) bool { return !strings.Contains(strings.ToLower(s), typed) })
	return c.part(w, r, "try.html", "suggestions", found[:min(len(found), maxSuggestions)])
}

// resetCounters resets the counters of the request in the form.
func (c *Console) resetCounters(w http.ResponseWriter, r *http.Request) error {
	if c.reset == nil {
		return httpx.Errorf(http.StatusForbidden, "Counters can't be reset here: no token is set")
	}
	if err := c.reset.CheckRequest(r, r.PostFormValue("secret")); err != nil {
		c.log.WarnContext(r.Context(), "a reset of counters was denied", "from", r.RemoteAddr, "err", err)
		return err
	}
	page, request, err := c.form(r.PostForm)
	if err != nil {
		return err
	}
	if request == nil {
		return httpx.Errorf(http.StatusBadRequest, "Fill in the domain and a key")
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), sendTimeout) // the change ends although the client leaves
	defer cancel()
	_, err = c.engine.ResetCounters(ctx, request)
	texts := make([]string, len(request.Descriptors))
	for i := range texts {
		texts[i] = printable.Truncate(entriesText(request.Descriptors[i].Entries), maxText)
	}
	c.log.WarnContext(ctx, "counters changed", "change", "Reset", "from", r.RemoteAddr,
		"domain", printable.Truncate(request.Domain, maxText), "descriptors", texts, "err", err)
	c.explain(ctx, page, request)
	if err != nil {
		page.Failure = "The counters could not be reset: " + clientText(err)
	}
	return c.tryPage(w, r, page)
}
