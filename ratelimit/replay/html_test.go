package replay_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/replay"
)

// TestHTML parses the page: every element is closed, nothing is loaded from elsewhere, and what comes
// from the log stays text.
func TestHTML(t *testing.T) {
	evil := `<script>alert(1)</script>"'`
	var hits []hit
	for i := range int64(500) {
		hits = append(hits, hit{1_700_000_000 + 60*i, evil, 1}, hit{1_700_000_000 + 60*i, evil, 1})
	}
	log := logOf(hits) + evil + "\n"
	rules := perKey(t, "k", 1, ratelimit.Minute)
	for _, opts := range []*replay.Options{{Mapping: counted()}, {Mapping: counted(), Against: perKey(t, "k", 5, ratelimit.Hour)}} {
		var b bytes.Buffer
		require.NoError(t, run(t, log, rules, opts).WriteHTML(&b, evil))
		require.NotRegexp(t, `(?i)https?:|//[a-z]|\bsrc=|\bhref=|url\(|@import|<script`, b.String())
		require.Contains(t, b.String(), "&lt;script&gt;")
		require.Less(t, b.Len(), 100_000)

		var open []string
		bars := 0
		for z := html.NewTokenizer(&b); z.Next() != html.ErrorToken; {
			token := z.Token()
			switch token.Type {
			case html.StartTagToken:
				if !strings.Contains(" meta ", " "+token.Data+" ") {
					open = append(open, token.Data)
				}
			case html.EndTagToken:
				require.NotEmpty(t, open)
				require.Equal(t, open[len(open)-1], token.Data, "%v", open)
				open = open[:len(open)-1]
			case html.SelfClosingTagToken:
				for _, a := range token.Attr {
					if a.Key == "d" {
						bars += strings.Count(a.Val, "M")
					}
				}
			}
		}
		require.Empty(t, open)
		require.Greater(t, bars, 200)
	}
}

// TestText prints the tables, with colors only if asked to, and never what a log could do to a
// terminal.
func TestText(t *testing.T) {
	log := logOf([]hit{{60, "a\x1b[31m", 1}, {61, "a\x1b[31m", 1}, {62, "b", 1}}) + "\x1b[31m{\n"
	r := run(t, log, perKey(t, "k", 1, ratelimit.Minute), &replay.Options{Mapping: counted()})
	var plain, color bytes.Buffer
	require.NoError(t, r.WriteText(&plain, false))
	require.NoError(t, r.WriteText(&color, true))
	require.NotContains(t, plain.String(), "\x1b")
	require.Contains(t, color.String(), "\x1b[1;31m1 would have been refused (33.33 %)\x1b[0m")
	require.Equal(t, `4 lines in format json from 1970-01-01 00:01:00 to 1970-01-01 00:01:02 UTC
descriptors of domain d: k=<k>
warning: 1 line could not be read
  line 4: not a JSON object
3 requests: 1 would have been refused (33.33 %), 0 without a limit

     limit  requests  over limit        %  smallest limit     first over limit      last over limit  rule
  1/minute         3           1  33.33 %               2  1970-01-01 00:01:01  1970-01-01 00:01:01  k

k: 2 is the smallest limit that refuses none, because of k=a?[31m in the minute from 1970-01-01 00:01:00
  requests  over limit  smallest limit     first over limit      last over limit  key
         2           1               2  1970-01-01 00:01:01  1970-01-01 00:01:01  k=a?[31m
         1           0               1                    -                    -  k=b
`, plain.String())
}
