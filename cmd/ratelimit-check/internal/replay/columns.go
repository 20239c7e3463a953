package replay

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// textFormat is a format of lines that are text.
type textFormat struct {
	name Format
	// columns are those of a line, in order: a word, a text in "quotes" or one in [brackets]. Those after
	// the bar may be missing, and further ones are ignored. A request is a method, a target and a protocol.
	columns string
}

// textFormats are the formats of text, in the order in which they are tried. Sources: the manuals of Apache, Envoy,
// Istio and AWS.
var textFormats = [...]textFormat{
	{Combined, `remote_address ident user [time] "request" status | bytes "referer" "user_agent"`},
	{VHostCombined, `host remote_address ident user [time] "request" status | bytes "referer" "user_agent"`},
	{EnvoyText, `[start_time] "request" response_code response_flags bytes_received bytes_sent | duration upstream_service_time ` +
		`"x_forwarded_for" "user_agent" "x_request_id" "authority" "upstream_host"`},
	{Istio, `[start_time] "request" response_code response_flags response_code_details connection_termination_details ` +
		`"upstream_transport_failure_reason" bytes_received bytes_sent | duration upstream_service_time ` +
		`"x_forwarded_for" "user_agent" "x_request_id" "authority" "upstream_host" ` +
		`upstream_cluster upstream_local_address downstream_local_address downstream_remote_address requested_server_name route_name`},
	{ALB, `type time elb client_ip target_ip request_processing_time target_processing_time response_processing_time ` +
		`status target_status bytes_received bytes_sent "request" | "user_agent" ssl_cipher ssl_protocol target_group_arn "trace_id" "domain_name"`},
	{ELB, `time elb client_ip target_ip request_processing_time target_processing_time response_processing_time ` +
		`status target_status bytes_received bytes_sent "request" | "user_agent" ssl_cipher ssl_protocol`},
}

// names returns the names of the columns of a format, nil if it is none of text.
func (f Format) names() []string {
	for _, t := range textFormats {
		if t.name == f {
			return strings.FieldsFunc(t.columns, func(r rune) bool { return strings.ContainsRune(` []"|`, r) })
		}
	}
	return nil
}

// textLine reads lines of a textFormat. A dash is an empty value.
type textLine struct {
	columns []string // as in textFormat, with their quotes or brackets
	sources [][]int  // the columns where each value may be; the first that is not empty counts
	found   []string
	other   error // for a line that is not in the format
}

func newTextLine(format textFormat, names fields) *textLine {
	t := &textLine{columns: strings.Fields(format.columns), other: fmt.Errorf("not in the format %s", format.name)}
	has := format.name.names()
	for _, name := range names {
		var sources []int
		for _, source := range sourcesOf(name) {
			if i := slices.Index(has, source); i >= 0 {
				sources = append(sources, i)
			}
		}
		t.sources = append(t.sources, sources)
	}
	return t
}

func (t *textLine) read(line []byte, values []string) error {
	s := columnScanner{strings.TrimSpace(string(line))}
	t.found = t.found[:0]
	optional := false
	for _, column := range t.columns {
		if column == "|" {
			optional = true
			continue
		}
		text, ok := s.column(column)
		if !ok && !optional {
			return t.other
		}
		if !ok {
			break
		}
		t.found = append(t.found, text)
	}
	for i, sources := range t.sources {
		for _, at := range sources {
			if at < len(t.found) && t.found[at] != "-" {
				values[i] = t.found[at]
				break
			}
		}
	}
	return nil
}

// columnScanner reads the columns of a line.
type columnScanner struct{ rest string }

// column returns the next text, false if it does not look like the column.
func (s *columnScanner) column(name string) (string, bool) {
	switch {
	case name[0] == '"':
		return s.quoted()
	case name[0] == '[':
		end := strings.IndexByte(s.rest, ']')
		if end < 0 || s.rest[0] != '[' {
			return "", false
		}
		text := s.rest[1:end]
		s.skip(end + 1)
		return text, true
	}
	word, _, _ := strings.Cut(s.rest, " ")
	s.skip(len(word))
	switch name {
	case "status", "response_code", "bytes_received", "bytes_sent":
		_, err := strconv.ParseUint(word, 10, 64)
		return word, err == nil || word == "-"
	}
	return word, word != ""
}

// skip removes n bytes and the spaces after them.
func (s *columnScanner) skip(n int) { s.rest = strings.TrimLeft(s.rest[n:], " ") }

// quoted returns the next text in quotes, without the escapes that servers write.
func (s *columnScanner) quoted() (string, bool) {
	if s.rest == "" || s.rest[0] != '"' {
		return "", false
	}
	for i := 1; i < len(s.rest); i++ {
		switch s.rest[i] {
		case '\\':
			i++
		case '"':
			text := s.rest[1:i]
			s.skip(i + 1)
			if strings.IndexByte(text, '\\') >= 0 {
				if plain, err := strconv.Unquote(`"` + text + `"`); err == nil {
					text = plain
				}
			}
			return text, true
		}
	}
	return "", false
}
