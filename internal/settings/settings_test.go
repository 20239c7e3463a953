package settings_test

import (
	"flag"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/ashlar-go/ashlar/internal/errtest"
	"github.com/ashlar-go/ashlar/internal/settings"
)

// config is the settings of a small program.
type config struct {
	Addr    string
	Port    int
	Ratio   float64
	Timeout time.Duration
	Debug   bool
	Mode    string
	Key     string
	URL     string
	Hosts   []string
	Proxies []netip.Prefix
}

func table(c *config) []settings.Setting {
	return []settings.Setting{
		{Flag: "addr", Default: ":80", Doc: "address", Value: settings.Text(&c.Addr, settings.CheckListen)},
		{Name: "PORT", Aliases: []string{"OLD_PORT"}, Flag: "port", Default: "8080", Doc: "port", Value: settings.Int(&c.Port, settings.From(1, 65535))},
		{Name: "RATIO", Default: "0.5", Doc: "ratio", Value: settings.Float(&c.Ratio, settings.AboveUpTo[float64](0, 1))},
		{Name: "TIMEOUT", Default: "30s", Doc: "time limit", Value: settings.Duration(&c.Timeout, settings.From(time.Second, 24*time.Hour))},
		{Name: "DEBUG", Default: "false", Doc: "log everything", Value: settings.Bool(&c.Debug)},
		{Name: "MODE", Default: "fast", Doc: "fast or safe", Value: settings.OneOf(&c.Mode, "fast=quick", "safe")},
		{Name: "KEY", Secret: true, Doc: "key", Value: settings.Hidden(&c.Key, settings.Match(`^\w*$`, "is not a key: use letters"))},
		{Name: "TARGET", URL: true, Doc: "address of the database", Value: settings.Text(&c.URL)},
		{Name: "HOSTS", Empty: true, Doc: "hosts", Value: settings.List(&c.Hosts, settings.CheckHost)},
		{Name: "PROXIES", Doc: "networks", Value: settings.Networks(&c.Proxies)},
	}
}

func read(environ, flags map[string]string) (*config, *settings.Reading) {
	c := &config{}
	return c, settings.Read(table(c), environ, flags)
}

func TestRead(t *testing.T) {
	t.Parallel()
	c, r := read(map[string]string{
		"OLD_PORT": "0x50", "RATIO": "1", "TIMEOUT": "1m30s", "DEBUG": "1", "MODE": "QUICK", "KEY": "k", "TARGET": "", "HOSTS": "a, b",
	}, map[string]string{"addr": ":0", "port": "9000"})
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	want := config{":0", 9000, 1, 90 * time.Second, true, "fast", "k", "", []string{"a", "b"}, nil}
	if got := *c; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := r.SetBy("PORT"); got != "-port" {
		t.Errorf("PORT is set by %q, want -port", got)
	}
	if got := r.Spelling("PORT", ""); got != "-port" {
		t.Errorf("PORT is spelled %q, want -port", got)
	}
}

func TestNetworks(t *testing.T) {
	t.Parallel()
	c, r := read(map[string]string{"PROXIES": "10.1.2.3/8, 192.0.2.1,fe80::1%eth0,fd00::1/8"}, nil)
	if got := fmt.Sprint(c.Proxies); r.Err() != nil || got != "[10.0.0.0/8 192.0.2.1/32 fe80::1/128 fd00::/8]" {
		t.Errorf("the networks are %s, %v", got, r.Err())
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		environ, flags map[string]string
		want           string
	}{
		{map[string]string{"PORT": "x"}, nil, `PORT: "x" whole 1 65535`},
		{map[string]string{"PORT": "99999999999999999999"}, nil, `PORT: "99999999999999999999" range 1 65535`},
		{map[string]string{"OLD_PORT": "0"}, nil, `OLD_PORT: "0" range 65535`},
		{map[string]string{"OLD_PORT": "1", "PORT": "2"}, nil, `PORT, OLD_PORT: different unset`},
		{map[string]string{"RATIO": "NaN"}, nil, `RATIO: "NaN" above 0 up 1`},
		{map[string]string{"TIMEOUT": "1"}, nil, `TIMEOUT: "1" duration 1s 24h`},
		{map[string]string{"DEBUG": "maybe"}, nil, `DEBUG: "maybe" true false`},
		{map[string]string{"MODE": "slow"}, nil, `MODE: "slow" fast safe`},
		{map[string]string{"KEY": "hunter2!"}, nil, `KEY: letters`},
		{map[string]string{"HOSTS": "a,b:1"}, nil, `HOSTS: "b:1" port separate`},
		{map[string]string{"HOSTS": "a,b:1,c@d"}, nil, `HOSTS: item 2 port`},
		{map[string]string{"PROXIES": "10.0.0.0/8,x"}, nil, `PROXIES: "x" 10.0.0.0/8`},
		{nil, map[string]string{"addr": ""}, `-addr: "" host:port`},
		{nil, map[string]string{"adr": ":1"}, `-adr: unknown setting`},
	} {
		c, r := read(tt.environ, tt.flags)
		if err := r.Err(); err == nil || !errtest.Names(err.Error(), tt.want) {
			t.Errorf("%v %v: the error is %v, want %s", tt.environ, tt.flags, err, tt.want)
		}
		if c.Port != 8080 || c.Addr != ":80" {
			t.Errorf("%v %v: an invalid setting does not keep its default: %+v", tt.environ, tt.flags, c)
		}
	}
}

// Errors about combinations use the names of the environment, and are dropped if one of
// the settings is invalid by itself.
func TestRequire(t *testing.T) {
	t.Parallel()
	const text = "is too short for %d hosts, see $PORT and $MODE"
	for _, tt := range []struct {
		environ map[string]string
		want    string
	}{
		{map[string]string{"TIMEOUT": "1s", "OLD_PORT": "1"}, "TIMEOUT: is too short for 3 hosts, see OLD_PORT and MODE"},
		{map[string]string{"TIMEOUT": "1s", "OLD_PORT": "0"}, `OLD_PORT: "0" 65535`},
		{map[string]string{"TIMEOUT": "x"}, `TIMEOUT: "x" 24h`},
	} {
		_, r := read(tt.environ, nil)
		r.Require(true, "TIMEOUT", text, 3)
		r.Require(false, "TIMEOUT", text, 3)
		if got := r.Err().Error(); !errtest.Names(got, tt.want) {
			t.Errorf("%v: the error is %s, want %s", tt.environ, got, tt.want)
		}
	}
	_, r := read(map[string]string{"MODE": "safe"}, nil)
	if got := r.FirstSet("PORT", "MODE"); got != "MODE" {
		t.Errorf("the first that is set is %s, want MODE", got)
	}
	if got := r.FirstSet("PORT", "RATIO"); got != "PORT" {
		t.Errorf("without one that is set: %s, want PORT", got)
	}
}

func TestEffective(t *testing.T) {
	t.Parallel()
	_, r := read(map[string]string{
		"OLD_PORT": "0x50", "MODE": "QUICK", "KEY": "secret", "TARGET": "db://u:secret@host/x", "TIMEOUT": "soon", "HOSTS": "",
	}, map[string]string{"addr": ":0"})
	var got []string
	for _, e := range r.Effective() {
		got = append(got, fmt.Sprintf("%s=%s (%s)", e.Setting.Name, e.Value, e.Origin))
	}
	want := []string{
		"=:0 (flag -addr)", "PORT=0x50 (environment, as OLD_PORT)", "RATIO=0.5 (default)", "TIMEOUT=soon (environment, as TIMEOUT)",
		"DEBUG=false (default)", "MODE=fast (environment, as MODE)", "KEY=*** (environment, as KEY)",
		"TARGET=db://***@host/x (environment, as TARGET)", "HOSTS= (environment, as HOSTS)", "PROXIES= (default)",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestFlags(t *testing.T) {
	t.Parallel()
	flags := flag.NewFlagSet("test", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Bool("other", false, "")
	given := settings.Flags(flags, table(&config{}))
	if err := flags.Parse([]string{"-port", "1", "-other"}); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(given()); got != "map[port:1]" {
		t.Errorf("given %s, want the port alone", got)
	}
	if f := flags.Lookup("port"); f.Usage != "port; PORT" || f.DefValue != "8080" {
		t.Errorf("the flag is %+v", f)
	}
	if flags.Lookup("timeout") != nil {
		t.Error("a setting without a flag has one")
	}
}

// Kubernetes sets variables for each service of a namespace.
func TestServiceLinks(t *testing.T) {
	t.Parallel()
	_, r := read(map[string]string{"PORT": "tcp://10.0.0.1:80", "OLD_PORT": "tcp://10.0.0.2:80"}, nil)
	if got := r.Err().Error(); strings.Count(got, "enableServiceLinks: false") != 1 || !strings.Contains(got, "a service named old:") {
		t.Errorf("the error is %s", got)
	}
	_, r = read(map[string]string{"TIMEOUT_PORT": "tcp://10.0.0.1:80", "TIMEOUT_SERVICE_HOST": "x", "TIMEOUT_PORT_80_TCP": "x", "TIMEOUT_X": "x", "PROT": "x", "TIMEOTU": "x", "OLD_PROT1": "x"}, nil)
	got := fmt.Sprint(r.Unknown([]string{"TIMEO"}, func(name string) bool { return name == "TIMEOUT_X" }))
	if want := "[TIMEOTU: unknown setting: did you mean TIMEOUT?]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestQuote(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a\nb":                        `"a\nb"`,
		"redis://u:p@host/1":          `"redis://***@host/1"`,
		"u:p@host":                    `"***@host"`,
		"m,a:1,u:p@b:2":               `"***@b:2"`,
		strings.Repeat("x", 81):       `"` + strings.Repeat("x", 80) + `..."`,
		strings.Repeat("x", 79) + "ü": `"` + strings.Repeat("x", 79) + `..."`, // not half of a rune
	} {
		if got := settings.Quote(text); got != want || !utf8.ValidString(got) {
			t.Errorf("Quote(%q) = %s, want %s", text, got, want)
		}
	}
}
