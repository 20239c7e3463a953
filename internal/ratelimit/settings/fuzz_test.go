package settings_test

import (
	"strings"
	"testing"

	"github.com/ashlar-go/ashlar/internal/ratelimit/settings"
)

// names returns all names of all settings, and some that depend on others.
func names() []string {
	var all []string
	for _, v := range settings.Table() {
		all = append(append(all, v.Name), v.Aliases...)
	}
	return append(all, "AGENTSTATS_MOGRIFIER_X_PATTERN", "AGENTSTATS_MOGRIFIER_X_NAME", "DOG_STATSD_MOGRIFIER_X_TAGS", "GRPC_PROT")
}

// FuzzParse sets some variables: each line of data is the number of a name, as one
// byte, and the value.
func FuzzParse(f *testing.F) {
	all := names()
	number := func(name string) string {
		for i, n := range all {
			if n == name {
				return string([]byte{byte(i)})
			}
		}
		f.Fatalf("%s is not known", name)
		return ""
	}
	for _, seed := range [][]string{
		{"PORT", "8081"},
		{"REDIS_URL", "m,a:1,u:p@b:2", "REDIS_TYPE", "sentinel"},
		{"REDIS_PERSECOND", "true", "REDIS_PERSECOND_URL", "[::1"},
		{"EXTRA_TAGS", "<a:b>,<c:d,e>"},
		{"USE_DOG_STATSD_MOGRIFIERS", "x", "AGENTSTATS_MOGRIFIER_X_PATTERN", "(a)(", "AGENTSTATS_MOGRIFIER_X_NAME", "$2"},
		{"GRPC_SERVER_USE_TLS", "1", "BACKEND_TYPE", "memstore"},
		{"NEAR_LIMIT_RATIO", "NaN", "XDS_CLIENT_BACKOFF_MAX_INTERVAL", "1ns"},
		{"CONFIG_GRPC_XDS_NODE_METADATA", "a=b,c=", "STATSD_PORT", "tcp://1"},
	} {
		var data strings.Builder
		for i := 0; i < len(seed); i += 2 {
			data.WriteString(number(seed[i]) + seed[i+1] + "\n")
		}
		f.Add(data.String())
	}
	f.Fuzz(func(t *testing.T, data string) {
		environ := environment{}
		for line := range strings.SplitSeq(data, "\n") {
			if line != "" {
				environ[all[int(line[0])%len(all)]] = line[1:]
			}
		}
		s, err := settings.Parse(environ)
		if (s == nil) != (err != nil) {
			t.Fatalf("settings %v and error %v", s, err)
		}
		if err != nil {
			checkError(t, err, environ)
		} else if s.KVStore.Nodes(); s.Backend == "" {
			t.Fatal("no backend")
		}
		for _, w := range settings.Warnings(environ) {
			if _, ok := environ[w.Variable]; !ok || strings.Contains(w.String(), "\n") {
				t.Fatalf("a warning about what is not there: %q", w)
			}
		}
		for _, e := range settings.Effective(environ) {
			if e.Secret && e.Value != "" && e.Value != "***" {
				t.Fatalf("%s is shown", e.Name)
			}
		}
	})
}

func checkError(t *testing.T, err error, environ environment) {
	t.Helper()
	for line := range strings.SplitSeq(err.Error(), "\n") {
		names, _, _ := strings.Cut(line, ": ")
		for name := range strings.SplitSeq(names, ", ") {
			if _, ok := environ[name]; !ok {
				t.Fatalf("%q is about %q, which is not in the environment", line, name)
			}
		}
	}
}
