package webhooks

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/internal/publicnet"
	"github.com/ashlar-go/ashlar/inventory/feed"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// rule is the condition of a rule for the records of one resource. Nil queries match everything.
type rule struct {
	of            *records.Resource
	before, after *records.Query
}

// parse returns the condition for each resource of the rule, by its kind.
func (w *Webhook) parse(schema *records.Schema) (map[string]rule, error) {
	filters, err := url.ParseQuery(w.Condition)
	switch {
	case err != nil:
		return nil, records.Refuse("condition", records.BadFormat("filters such as after.status=offline&before.status__ne=offline"))
	case len(filters) > 0 && len(w.Resources) == 0:
		return nil, records.Refuse("condition", records.NotAllowed("without resources, whose fields it is about"))
	}
	sides := map[string]url.Values{"before": {}, "after": {}}
	for name, values := range filters {
		side, field, _ := strings.Cut(name, ".")
		if sides[side] == nil {
			return nil, records.Refuse("condition", records.Unknown("filter "+name, "begin it with before. or after."))
		}
		sides[side][field] = values
	}
	all, names := map[string]rule{}, w.Resources
	if len(names) == 0 {
		for _, r := range schema.Resources() {
			names = append(names, r.Name)
		}
	}
	for _, name := range names {
		r, ok := schema.Named(name)
		if !ok || r.Unaudited && len(w.Resources) > 0 {
			return nil, records.Refuse("resources", records.Unknown("resource", "use one with an audit log, such as devices"))
		}
		queries := map[string]*records.Query{}
		for side, values := range sides {
			q, err := records.ParseQuery(r, values)
			if err == nil && len(q.Filters) != len(values) {
				err = records.Refuse("", records.BadFormat("filters of fields only"))
			}
			if e, ok := errors.AsType[*records.Error](err); ok {
				return nil, records.Refuse("condition", records.Wrong(e.Fields[0].Code, "is wrong: %s.%v", side, e.Fields[0]))
			}
			queries[side] = q
		}
		all[r.Kind()] = rule{r, queries["before"], queries["after"]}
	}
	return all, nil
}

// compose returns the message for a change, nil if it does not meet the condition.
func (w *Webhook) compose(ctx context.Context, from records.Reader, rules map[string]rule, c *feed.Change) ([]byte, error) {
	if w.Condition == "" && w.Template == "" {
		return json.Marshal(c)
	}
	var before, after records.Record
	rule, known := rules[c.ResourceType]
	if known {
		var err error
		if before, after, err = sides(ctx, from, rule.of, c); err != nil {
			return nil, err
		}
		if !rule.before.Matches(before) || !rule.after.Matches(after) {
			return nil, nil
		}
	}
	if w.Template == "" {
		return json.Marshal(c)
	}
	return expand(w.Template, c, func(side, field string) any {
		if known {
			if f, ok := rule.of.Field(field); ok && !f.WriteOnly {
				return f.Value(map[string]records.Record{"before": before, "after": after}[side])
			}
		}
		return nil
	})
}

// sides returns the record of a change before and after it. The fields that it leaves unchanged are those of the record now. A
// side without a record is empty.
func sides(ctx context.Context, from records.Reader, r *records.Resource, c *feed.Change) (before, after records.Record, err error) {
	now := r.New()
	if c.Action != "delete" {
		if rec, err := from.Get(ctx, r, c.ResourceID); err == nil {
			now = rec
		} else if records.KindOf(err) != records.NotFound {
			return nil, nil, err
		}
	}
	before, after = r.New(), r.New()
	if c.Action != "create" {
		before = records.Clone(now)
	}
	if c.Action != "delete" {
		after = records.Clone(now)
	}
	for name, delta := range c.Changes {
		if f, ok := r.Field(name); ok && !f.WriteOnly {
			set(f, before, delta.Before)
			set(f, after, delta.After)
		}
	}
	return before, after, nil
}

// set sets a field to a value of JSON.
func set(f *records.Field, rec records.Record, value any) {
	n, isNumber := value.(float64)
	switch {
	case !f.Extra:
		doc, _ := json.Marshal(value) // it was decoded
		f.Set(rec, nil)
		_ = json.Unmarshal(doc, f.Pointer(rec)) // a field may have another type since; then it has no value
	case isNumber && f.Kind == records.Int:
		f.Set(rec, int64(n))
	default:
		f.Set(rec, value)
	}
}

var (
	jsonText    = regexp.MustCompile(`"(?:[^"\\]|\\.)*"(\s*:)?`) // the name of a member with its colon
	placeholder = regexp.MustCompile(`\{\{\s*([^{}]*?)\s*\}\}`)
)

// expand returns a template with the values of its placeholders: those of the change, and of the fields before and after it. A
// text that is one placeholder becomes a value of its type.
func expand(template string, c *feed.Change, field func(side, name string) any) (doc []byte, err error) {
	if !json.Valid([]byte(template)) {
		return nil, records.BadFormat(`a JSON document with placeholders in its texts, such as {"text": "{{actor}} changed {{after.hostname}}"}`)
	}
	var values map[string]any
	encode := func(v any) []byte {
		doc, _ := json.Marshal(v) // of JSON, or the value of a field
		return doc
	}
	_ = json.Unmarshal(encode(c), &values)
	value := func(name string) any {
		side, of, dotted := strings.Cut(name, ".")
		v, known := values[name]
		switch {
		case dotted && of != "" && (side == "before" || side == "after"):
			return field(side, of)
		case !known:
			err = records.Unknown("placeholder "+name, "use a member of a change such as actor, or before.FIELD or after.FIELD")
		}
		return v
	}
	doc = jsonText.ReplaceAllFunc([]byte(template), func(quoted []byte) []byte {
		if quoted[len(quoted)-1] == ':' {
			return quoted
		}
		var text string
		_ = json.Unmarshal(quoted, &text) // a text of a valid document
		if whole := placeholder.FindStringSubmatch(text); whole != nil && whole[0] == text {
			return encode(value(whole[1]))
		}
		return encode(placeholder.ReplaceAllStringFunc(text, func(found string) string {
			switch v := value(placeholder.FindStringSubmatch(found)[1]).(type) {
			case nil:
				return ""
			case string:
				return v
			default:
				return string(encode(v))
			}
		}))
	})
	return doc, err
}

// The bounds of a request.
const (
	sendTime    = 10 * time.Second
	maxResponse = 64 << 10 // of the header, and of the body, which is not used
)

// newClient returns the client of messages. It connects to public addresses only, whatever their names resolve to, unless
// private ones are allowed, uses no proxy, and follows no redirects.
func newClient(private bool) *http.Client {
	dialer := &net.Dialer{Timeout: sendTime}
	if !private {
		dialer.Control = publicnet.Require
	}
	return &http.Client{
		Timeout:       sendTime,
		Transport:     &http.Transport{DialContext: dialer.DialContext, MaxResponseHeaderBytes: maxResponse, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// send sends a message, with the signature of Standard Webhooks and, if the rule says so, that of GitHub. It returns the status
// of the response, nil for none, and an error unless the status is 200 to 299.
func send(client *http.Client, w *Webhook, secret, id string, body []byte) (status *int64, err error) {
	r, err := http.NewRequest(http.MethodPost, w.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_")) // it was checked
	at := strconv.FormatInt(time.Now().Unix(), 10)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "ashlar-inventory")
	r.Header.Set("Webhook-Id", id)
	r.Header.Set("Webhook-Timestamp", at)
	r.Header.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(sign(key, id+"."+at+"."+string(body))))
	if w.GitHubSignature {
		r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(sign([]byte(secret), string(body))))
	}
	res, err := client.Do(r)
	if errors.Is(err, publicnet.ErrNotPublic) {
		return nil, errors.New("the URL is at a private address: whoever runs this server may allow those by WEBHOOKS_PRIVATE=true")
	}
	if of, ok := errors.AsType[*url.Error](err); ok {
		return nil, of.Err // without the URL, which may have a token
	}
	defer res.Body.Close()
	_, _ = io.CopyN(io.Discard, res.Body, maxResponse) // the status counts; what is read lets the connection be used again
	switch s := res.StatusCode; {
	case s >= 300 && s < 400:
		err = fmt.Errorf("the receiver responds %d, and redirects are not followed: use the URL that it redirects to", s)
	case s < 200 || s >= 300:
		err = fmt.Errorf("the receiver responds %d %s", s, http.StatusText(s))
	}
	return new(int64(res.StatusCode)), err
}

func sign(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}
