package mail

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	netmail "net/mail"
	"os"
	"strconv"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"
)

const (
	submission  = 587 // RFC 6409
	submissions = 465 // RFC 8314
	sendTimeout = 30 * time.Second
)

// SMTPOptions are the choices of an [SMTP]. Nil means the defaults.
type SMTPOptions struct {
	// Port of the server. Default: 587.
	Port int
	// Username and Password log in, both or neither. Default: neither.
	Username, Password string
	// ImplicitTLS begins with TLS, before the server says a word. Default: for port 465.
	// Otherwise STARTTLS is used when the server offers it, and a server that does not
	// offer it gets no mail if there is a password, unless the host is this machine.
	ImplicitTLS bool
	// TLS says which certificates are right, and the like. Default: TLS 1.2 or later, and
	// the certificates that the system trusts; none is checked on this machine itself.
	TLS *tls.Config
	// Timeout is how long one mail may take, from connecting on. Default: 30 seconds.
	Timeout time.Duration
	// Hello is how this program names itself to the server. Default: the name of the
	// machine.
	Hello string
	// Now is the clock, for the date of a mail. Default: time.Now.
	Now func() time.Time
}

// SMTP sends mails through a server (RFC 5321), each over a connection of its own. It is
// safe for concurrent use, and there is nothing to close. Printing it shows the server.
type SMTP struct {
	host     string
	from     *netmail.Address
	opts     SMTPOptions
	loopback bool
}

// NewSMTP makes a mailer over the server at a host, a name or an IP address. from is the
// address that mails come from, and may have a name: "Inventory <inventory@example.org>".
// It does not connect. The error says which setting is wrong, and never the password.
func NewSMTP(host, from string, opts *SMTPOptions) (*SMTP, error) {
	s := &SMTP{host: host}
	if opts != nil {
		s.opts = *opts
	}
	s.loopback = isLoopback(host)
	var err error
	if s.from, err = parseSender(from); err != nil {
		return nil, err
	}
	if err := s.opts.check(host); err != nil {
		return nil, err
	}
	s.opts.fill(host, s.loopback)
	return s, nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (o *SMTPOptions) check(host string) error {
	switch {
	case host == "" || strings.ContainsAny(host, " /\t\r\n\x00") || strings.Contains(host, ":") && net.ParseIP(host) == nil:
		return fmt.Errorf("mail: the host is %q: it must be a name such as smtp.example.org or an IP address, without a port", host)
	case o.Port < 0 || o.Port > 65535:
		return fmt.Errorf("mail: the port is %d: it must be from 1 to 65535, or 0 for %d", o.Port, submission)
	case o.Username != "" && o.Password == "":
		return errors.New("mail: there is a user name and no password: give both, or neither")
	case o.Username == "" && o.Password != "":
		return errors.New("mail: there is a password and no user name: give both, or neither")
	case strings.ContainsRune(o.Username+o.Password, 0):
		return errors.New("mail: the user name and the password must not have a NUL in them")
	case o.Timeout < 0:
		return fmt.Errorf("mail: the timeout is %v: it must be positive, or 0 for %v", o.Timeout, sendTimeout)
	case o.Hello != "" && (!isLine(o.Hello) || strings.Contains(o.Hello, " ")):
		return fmt.Errorf("mail: Hello is %q: it must be the name of a machine", o.Hello)
	}
	return nil
}

// fill puts the defaults in.
func (o *SMTPOptions) fill(host string, loopback bool) {
	o.Port = cmp.Or(o.Port, submission)
	o.ImplicitTLS = o.ImplicitTLS || o.Port == submissions
	o.Timeout = cmp.Or(o.Timeout, sendTimeout)
	if o.Hello == "" {
		name, _ := os.Hostname()
		o.Hello = cmp.Or(name, "localhost")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.TLS == nil {
		o.TLS = &tls.Config{InsecureSkipVerify: loopback} // see the package comment
	}
	o.TLS = o.TLS.Clone()
	o.TLS.ServerName = cmp.Or(o.TLS.ServerName, host)
	o.TLS.MinVersion = cmp.Or(o.TLS.MinVersion, tls.VersionTLS12)
}

// String is the server, as host:port.
func (s *SMTP) String() string { return net.JoinHostPort(s.host, strconv.Itoa(s.opts.Port)) }

// GoString is String: %#v shows no password.
func (s *SMTP) GoString() string { return s.String() }

// Send sends a mail, or returns an [*Error] or that of [Message.Check]. It takes no longer
// than SMTPOptions.Timeout, and ends with ctx.
func (s *SMTP) Send(ctx context.Context, m *Message) error {
	if err := m.Check(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	d := &delivery{server: s, message: m, step: "connect"}
	defer d.close()
	if err := d.run(ctx); err != nil {
		return d.failure(ctx, err)
	}
	return nil
}

// compose makes the mail as it is sent.
func (s *SMTP) compose(m *Message) (*gomail.Msg, error) {
	msg := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	msg.FromMailAddress(s.from)
	if err := msg.To(m.To); err != nil {
		return nil, err
	}
	msg.Subject(m.Subject)
	msg.SetDateWithValue(s.opts.Now())
	// The id that the library would make has the name and the process id of this machine.
	msg.SetMessageIDWithValue(rand.Text() + s.from.Address[strings.LastIndexByte(s.from.Address, '@'):])
	msg.SetGenHeader("Auto-Submitted", "auto-generated") // no answers from holidays; RFC 3834
	switch {
	case m.Text == "":
		msg.SetBodyString(gomail.TypeTextHTML, m.HTML)
	default:
		msg.SetBodyString(gomail.TypeTextPlain, m.Text)
		if m.HTML != "" {
			msg.AddAlternativeString(gomail.TypeTextHTML, m.HTML)
		}
	}
	return msg, nil
}
