package server

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/ashlar-go/ashlar/internal/logformat"
	"github.com/ashlar-go/ashlar/internal/printable"
	"github.com/ashlar-go/ashlar/ratelimit"
)

// NewLog returns a logger with LOG_LEVEL and LOG_FORMAT that writes to standard error.
func NewLog(s *Settings) *slog.Logger { return NewLogTo(os.Stderr, s) }

// NewLogTo is NewLog with another destination.
func NewLogTo(w io.Writer, s *Settings) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(s.LogLevel)); err != nil {
		level = slog.LevelWarn // settings.Parse has checked it
	}
	return logformat.New(w, level, s.LogFormat)
}

// throttle limits lines in the log.
type throttle struct {
	mu         sync.Mutex
	until      time.Time // the end of the second that the first line began
	logged     int       // lines in it
	suppressed int
}

// allow reports whether to log one more line, of at most n in a second, and how many were
// suppressed since the last one.
func (t *throttle) allow(n int) (suppressed int, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := time.Now(); !now.Before(t.until) {
		t.until, t.logged = now.Add(time.Second), 0
	}
	if t.logged >= n {
		t.suppressed++
		return 0, false
	}
	t.logged++
	suppressed, t.suppressed = t.suppressed, 0
	return suppressed, true
}

// maxDecisions limits the decisions in the log of a second.
const maxDecisions = 100

// logDecision logs a request with the rule of each descriptor and the decision.
func (s *Server) logDecision(ctx context.Context, r *ratelimit.Request, d *ratelimit.Decision) {
	suppressed, ok := s.decisionLog.allow(maxDecisions)
	if !ok {
		return
	}
	const maxLogged = 20
	lines := make([]string, 0, min(len(d.Statuses), maxLogged+1))
	for i := range d.Statuses {
		if i == maxLogged {
			lines = append(lines, fmt.Sprintf("and %d more", len(d.Statuses)-i))
			break
		}
		lines = append(lines, descriptorLine(s.engine.Rules(), r.Domain, &r.Descriptors[i], &d.Statuses[i]))
	}
	s.log.DebugContext(ctx, "decision", "domain", printable.Truncate(r.Domain, maxText), "code", d.Code.String(),
		"descriptors", lines, "others_since_last", suppressed)
}

// maxText limits each text of a request in the log.
const maxText = 200

// entriesText returns "<key>=<value>,<key>=<value>", with at most so many bytes of each.
func entriesText(entries []ratelimit.Entry, most int) string {
	return printable.Join(entries, ",", func(e ratelimit.Entry) string {
		return printable.Truncate(e.Key, most) + "=" + printable.Truncate(e.Value, most)
	})
}

// descriptorLine returns "<entries>: <rule>: <status>".
func descriptorLine(rules *ratelimit.Ruleset, domain string, d *ratelimit.Descriptor, s *ratelimit.Status) string {
	rule := "no rule"
	if d.Limit != nil {
		rule = "limit of the request"
	} else if name := ruleName(rules, domain, d.Entries); name != "" {
		rule = "rule " + name
	}
	text := fmt.Sprintf("%s: %s: %s", entriesText(d.Entries, maxText), rule, s.Code)
	switch {
	case !s.Limited:
	case s.Algorithm.HasPermits():
		text += fmt.Sprintf(", %d of %d at the same time left", s.Remaining, s.RequestsPerUnit)
	case s.Algorithm.HasBursts():
		text += fmt.Sprintf(", %d left of a %s with %d per %s", s.Remaining, s.Algorithm, s.RequestsPerUnit, s.Unit.Text(s.UnitMultiplier))
	default:
		text += fmt.Sprintf(", %d of %d per %s left", s.Remaining, s.RequestsPerUnit, s.Unit.Text(s.UnitMultiplier))
	}
	return text
}

// ruleName returns the keys and values of the rules that entries match, as on the page
// /rlconfig, or "" if they do not match to the end.
func ruleName(rules *ratelimit.Ruleset, domain string, entries []ratelimit.Entry) string {
	if rules == nil {
		return ""
	}
	name, level := domain, rules.Level(domain)
	for _, e := range entries {
		if level.Empty() {
			return ""
		}
		rule := level.Match(e)
		if rule == nil {
			return ""
		}
		name, level = belowName(name, rule.Key, rule.Value), rule.Next
	}
	return printable.String(name)
}

// belowName returns the name of a rule below another one or a domain: "<above>.<key>_<value>".
func belowName(above, key, value string) string {
	if value != "" {
		key += "_" + value
	}
	return above + "." + key
}
