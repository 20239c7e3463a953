package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/ratelimit"
)

// printer prints responses and counts them.
type printer struct {
	out         io.Writer
	json        bool
	color       bool
	descriptors descriptors
	counters    *countersOptions
	codes       map[string]int
	responses   int
	refused     bool // one of the responses
}

func (p *printer) response(m *ratelimitv3.RateLimitResponse) error {
	if p.codes == nil {
		p.codes = make(map[string]int)
	}
	code := verdict(m.GetOverallCode())
	if p.json {
		code = m.GetOverallCode().String()
	}
	p.codes[code]++
	p.responses++
	p.refused = p.refused || m.GetOverallCode() == ratelimitv3.RateLimitResponse_OVER_LIMIT
	if !p.json {
		_, err := io.WriteString(p.out, p.text(m))
		return err
	}
	return p.line(m)
}

// line prints a message as a line of JSON.
func (p *printer) line(m proto.Message) error {
	loose, err := protojson.Marshal(m)
	var line bytes.Buffer
	if err = cmp.Or(err, json.Compact(&line, loose)); err != nil { // without the white space that the library varies
		return err
	}
	line.WriteByte('\n')
	_, err = line.WriteTo(p.out)
	return err
}

// text returns a line about the response and, if there are several descriptors, one about each.
func (p *printer) text(m *ratelimitv3.RateLimitResponse) string {
	if p.counters.method != "" {
		return p.countersText(m)
	}
	shade := "1;32"
	if m.GetOverallCode() != ratelimitv3.RateLimitResponse_OK {
		shade = "1;31"
	}
	line := cli.Paint(p.color, shade, verdict(m.GetOverallCode())) + ": " + limitText(tightest(m)) + "\n"
	if len(p.descriptors) == 1 {
		return line
	}
	for i, s := range m.GetStatuses() {
		if i < len(p.descriptors) {
			line += fmt.Sprintf("  %s: %s, %s\n", cli.Printable(p.descriptors.text(i)), verdict(s.GetCode()), limitText(s))
		}
	}
	return line
}

func verdict(code ratelimitv3.RateLimitResponse_Code) string {
	switch code {
	case ratelimitv3.RateLimitResponse_OK:
		return "allowed"
	case ratelimitv3.RateLimitResponse_OVER_LIMIT:
		return "refused"
	}
	return "unknown"
}

// tightest returns the last status that is over its limit, else the limited one with the fewest
// remaining hits, else the first; nil without statuses.
func tightest(m *ratelimitv3.RateLimitResponse) (best *ratelimitv3.RateLimitResponse_DescriptorStatus) {
	for _, s := range m.GetStatuses() {
		over := s.GetCode() == ratelimitv3.RateLimitResponse_OVER_LIMIT
		fewer := s.GetCurrentLimit() != nil && (best.GetCurrentLimit() == nil || s.GetLimitRemaining() < best.GetLimitRemaining())
		if best == nil || over || fewer && best.GetCode() != ratelimitv3.RateLimitResponse_OVER_LIMIT {
			best = s
		}
	}
	return best
}

// limitText returns text such as "limit 5/minute, 4 remaining, resets in 45s".
func limitText(s *ratelimitv3.RateLimitResponse_DescriptorStatus) string {
	l := s.GetCurrentLimit()
	switch {
	case l == nil && s.GetLimitRemaining() == math.MaxUint32:
		return "unlimited"
	case l == nil:
		return "no limit"
	}
	text := fmt.Sprintf("limit %d/%s", l.GetRequestsPerUnit(), ratelimit.Unit(l.GetUnit()).Text(l.GetUnitMultiplier().GetValue()))
	if l.GetName() != "" {
		text += fmt.Sprintf(" (%s)", cli.Printable(l.GetName()))
	}
	text += fmt.Sprintf(", %d remaining", s.GetLimitRemaining())
	if reset := s.GetDurationUntilReset(); reset != nil {
		text += ", resets in " + resetText(reset.AsDuration())
	}
	return text
}

// resetText returns a time such as "45s", "2h5m" or "37d9h".
func resetText(d time.Duration) string {
	if days := d / (24 * time.Hour); days > 0 {
		return fmt.Sprintf("%dd%dh", days, d%(24*time.Hour)/time.Hour)
	}
	text := d.Round(time.Millisecond).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	return text
}

// summary prints the number of responses by code, if there was more than one request. With
// -json it prints to stderr.
func (p *printer) summary(requests int, stderr io.Writer) error {
	if requests == 1 {
		return nil
	}
	w := p.out
	if p.json {
		w = stderr
	}
	parts := []string{fmt.Sprintf("%d of %d requests succeeded", p.responses, requests)}
	for _, code := range slices.Sorted(maps.Keys(p.codes)) {
		parts = append(parts, fmt.Sprintf("%d %s", p.codes[code], code))
	}
	_, err := fmt.Fprintf(w, "summary: %s\n", strings.Join(parts, ", "))
	return err
}
