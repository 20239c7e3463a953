package manifest

import (
	"fmt"
	"net/url"
	"strings"
)

// place is the part of a url that a token stands in. It decides what a value can
// be there and how it is escaped.
type place uint8

const (
	placeStart place = iota // before any scheme: the value brings it
	placeUser
	placeHost
	placePath
	placeQuery // and fragment
)

// urlWriter fills a url template.
type urlWriter struct {
	r           *resolver
	pointer     string
	at          place
	text, shown strings.Builder
	secret      bool
	whole       bool // no value was refused and none is missing
}

// url fills the template of a transport. A value stays in the part of the url that
// its token stands in: it is escaped there, or refused where nothing can be escaped.
func (r *resolver) url(pointer, template string, lookup func(name string) (filled, bool)) Item {
	w := urlWriter{r: r, pointer: pointer, whole: true}
	for rest := template; ; {
		before, name, after := cutVariable(rest)
		w.literal(before)
		if name == "" {
			break
		}
		if f, ok := lookup(name); ok {
			w.token(name, f, after)
		} else {
			w.open(name)
		}
		if w.text.Len() > maxText {
			r.unfit(pointer, "", "the url is longer than %d bytes when it is filled in", maxText)
			return Item{}
		}
		rest = after
	}
	return w.item()
}

// literal is text of the template, which decides where the next token stands.
func (w *urlWriter) literal(s string) {
	w.text.WriteString(s)
	w.shown.WriteString(s)
	w.advance(s)
}

// advance moves to the part of the url that s ends in.
func (w *urlWriter) advance(s string) {
	if w.at == placeStart {
		_, rest, found := strings.Cut(s, "://")
		if !found {
			return
		}
		w.at, s = placeHost, rest
	}
	if w.at == placeUser || w.at == placeHost {
		end := strings.IndexAny(s, "/?#")
		if end < 0 {
			return
		}
		w.at, s = placePath, s[end:]
	}
	if w.at == placePath && strings.ContainsAny(s, "?#") {
		w.at = placeQuery
	}
}

// token writes a value.
func (w *urlWriter) token(name string, f filled, after string) {
	at := w.at
	if at == placeHost && hasUser(after) {
		at = placeUser
	}
	text, why := f.text, ""
	switch at {
	case placeStart:
		text, why = baseURL(text, after)
	case placeHost:
		why = unfitHost(text)
	case placeUser:
		text = escaped(text, unreserved)
	case placePath:
		if strings.Trim(text, ".") == "" || hasDots(text) {
			why = "is empty or has a segment that is nothing but dots"
		}
		text = escaped(text, unreserved+subDelims+":@")
	case placeQuery:
		text = escaped(text, unreserved)
	}
	if why != "" {
		w.refuse(name, why, f.given)
		return
	}
	w.text.WriteString(text)
	w.advance(text)
	w.secret = w.secret || f.secret
	if f.secret {
		text = masked
	}
	w.shown.WriteString(text)
}

// hasUser says that what follows a token makes it a part of the userinfo.
func hasUser(after string) bool {
	if end := strings.IndexAny(after, "/?#"); end >= 0 {
		after = after[:end]
	}
	return strings.Contains(after, "@")
}

// baseURL checks a value that a url begins with.
func baseURL(text, after string) (string, string) {
	u, err := url.Parse(text)
	switch {
	case err != nil || uriFault(text) != "" || u.Host == "" || !isHTTP(u.Scheme):
		return "", "is no http or https URL, with which this url begins"
	case strings.ContainsAny(text, "?#") || u.User != nil:
		return "", "has a query, a fragment or a user, and a url that begins with it can't"
	}
	if strings.HasPrefix(after, "/") {
		text = strings.TrimSuffix(text, "/")
	}
	return text, ""
}

func isHTTP(scheme string) bool { return scheme == "http" || scheme == "https" }

// unfitHost says why a value can't be in a host or port, where nothing is escaped.
func unfitHost(text string) string {
	switch {
	case text == "":
		return "is empty and stands for a host or port"
	case !only(text, "-._~:[]"):
		return "has a character that a host or port cannot have"
	}
	return ""
}

// escaped writes all but letters, digits and some others as %XX.
func escaped(s, plain string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; isAlphanumeric(c) || strings.IndexByte(plain, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

func (w *urlWriter) refuse(name, why string, given bool) {
	w.whole = false
	f := Fault{Kind: FaultManifest, Pointer: w.pointer, Message: fmt.Sprintf("the value of %s %s", show(name), why)}
	if p := w.r.named[name]; p != nil && given {
		f.Kind, f.Key, f.Pointer = FaultValue, p.Key, p.Pointer
	}
	w.r.fault(f)
}

// open is a token without a value. No URI has braces, so there is no url then.
func (w *urlWriter) open(name string) {
	w.whole = false
	p := w.r.named[name]
	if p == nil {
		w.r.unfit(w.pointer, "", "the url has %s in it, for which there is no value", show("{"+name+"}"))
		return
	}
	for i := range w.r.faults {
		if w.r.faults[i].Key == p.Key {
			return // told already
		}
	}
	w.r.fault(Fault{Kind: FaultMissing, Key: p.Key, Pointer: p.Pointer, Message: fmt.Sprintf("%s was not given, and the url needs it", show(p.Key))})
}

// item checks the whole.
func (w *urlWriter) item() Item {
	if !w.whole {
		return Item{}
	}
	text := w.text.String()
	u, err := url.Parse(text)
	switch {
	case err != nil || uriFault(text) != "" || u.Host == "" || u.Hostname() == "" || !isHTTP(u.Scheme):
		w.r.unfit(w.pointer, "", "the url is no http or https URL when it is filled in")
		return Item{}
	}
	if u.Scheme == "http" && !isLocal(u.Hostname()) {
		w.r.notice(w.pointer, "the url is http: all that is sent, secrets too, can be read on the way")
	}
	value := plainValue(text)
	if w.secret {
		value = secretValue(text, w.shown.String())
	}
	return Item{Value: value, Origin: w.r.opts.Pointer + w.pointer}
}

// hasDots says that a path leads elsewhere when it is cleaned: after a server has
// decoded the slashes of a value too.
func hasDots(path string) bool {
	for s := range strings.SplitSeq(path, "/") {
		if s == "." || s == ".." {
			return true
		}
	}
	return false
}
