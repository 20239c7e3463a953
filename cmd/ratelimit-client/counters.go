package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"os"
	"strings"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
	"github.com/ashlar-go/ashlar/ratelimit/service"
)

// countersOptions contains the flags that read and change counters.
type countersOptions struct {
	get, reset bool
	giveBack   uint64
	tokenFile  string

	method string // Get, Reset or GiveBack; empty for a decision
	token  string
}

// validate reports flags that are invalid or conflict, and sets method and token. set reports whether a flag is set.
func (o *countersOptions) validate(all *options, set func(flag string) bool, environ map[string]string) error {
	var names []string
	for name, use := range map[string]bool{"get": o.get, "reset": o.reset, "give-back": set("give-back")} {
		if use {
			names = append(names, name)
		}
	}
	switch {
	case len(names) > 1:
		return errors.New("use only one of -get, -reset and -give-back")
	case len(names) == 0 && o.tokenFile != "":
		return errors.New("-token-file has no effect without -get, -reset or -give-back")
	case len(names) == 0:
		return nil
	case set("hits"):
		return fmt.Errorf("-%s does not take -hits: use -give-back to give hits back", names[0])
	case all.repeat > 1:
		return fmt.Errorf("-%s does not take -n: it is sent once", names[0])
	case names[0] == "give-back" && (o.giveBack == 0 || o.giveBack > math.MaxUint32):
		return fmt.Errorf("invalid -give-back %d: use 1 to %d", o.giveBack, uint32(math.MaxUint32))
	case !all.useTLS && !isLocal(all.address):
		return fmt.Errorf("-%s would send the admin token to %s unencrypted: use -grpc-use-tls", names[0], all.address)
	}
	o.method = map[string]string{"get": "Get", "reset": "Reset", "give-back": "GiveBack"}[names[0]]
	return o.readToken(environ)
}

func (o *countersOptions) readToken(environ map[string]string) error {
	file := o.tokenFile
	if o.token = environ["ADMIN_TOKEN"]; file == "" && o.token == "" {
		file = environ["ADMIN_TOKEN_FILE"]
	}
	if file != "" {
		data, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("admin token: %w", err)
		}
		o.token = strings.TrimSpace(string(data))
	}
	switch {
	case o.token == "":
		return errors.New("the admin token of the service is missing: set ADMIN_TOKEN, or -token-file to its file")
	case strings.ContainsFunc(o.token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return errors.New("the admin token has blanks or characters that are not ASCII, which no token of the service has")
	}
	return nil
}

// isLocal reports whether an address is within this machine.
func isLocal(address string) bool {
	if strings.HasPrefix(address, "unix:") {
		return true
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "" || host == "localhost" || err == nil && ip.IsLoopback()
}

// call calls the service for counters.
func (o *countersOptions) call(ctx context.Context, conn *grpc.ClientConn, in *ratelimitv3.RateLimitRequest) (*ratelimitv3.RateLimitResponse, error) {
	in.HitsAddend = uint32(o.giveBack)
	ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+o.token)
	out := new(ratelimitv3.RateLimitResponse)
	err := conn.Invoke(ctx, "/"+service.CountersService+"/"+o.method, in, out)
	if status.Code(err) == codes.Unimplemented {
		err = fmt.Errorf("%w: the service does not serve its counters: start it with ADMIN_TOKEN", err)
	}
	return out, err
}

// countersText returns a line about the counter of each descriptor.
func (p *printer) countersText(m *ratelimitv3.RateLimitResponse) string {
	text := ""
	counters := m.GetDynamicMetadata().GetFields()["counters"].GetListValue().GetValues()
	for i, s := range m.GetStatuses() {
		if i >= len(p.descriptors) {
			break
		}
		text += cli.Printable(p.descriptors.text(i)) + ": "
		if s.GetCurrentLimit() == nil || i >= len(counters) {
			text += limitText(s) + "\n"
			continue
		}
		fields := counters[i].GetStructValue().GetFields()
		shade := "1"
		if s.GetCode() == ratelimitv3.RateLimitResponse_OVER_LIMIT {
			shade = "1;31"
		}
		done := map[string]string{"Reset": "reset, now ", "GiveBack": fmt.Sprintf("%d given back, now ", p.counters.giveBack)}[p.counters.method]
		text += done + cli.Paint(p.color, shade, fmt.Sprintf("%.0f used", fields["used"].GetNumberValue())) + ", " + limitText(s)
		if name := fields["algorithm"].GetStringValue(); name != "fixed_window" {
			text += ", " + cli.Printable(name)
		}
		text += "\n"
	}
	return text
}

// unchanged returns an error if the request has changed no counter because the descriptors have none.
func (o *countersOptions) unchanged(m *ratelimitv3.RateLimitResponse) error {
	if o.method == "" || o.method == "Get" {
		return nil
	}
	for _, s := range m.GetStatuses() {
		if s.GetCurrentLimit() != nil {
			return nil
		}
	}
	return errors.New("no counter was changed: no rule limits these descriptors")
}
