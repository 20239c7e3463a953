package mail

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/textproto"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"
)

const (
	submission  = 587 // RFC 6409
	submissions = 465 // RFC 8314
	sendTimeout = 30 * time.Second

	maxReplies   = 256 << 10 // bytes of all replies of one session
	maxReplyText = 200       // characters of a reply in an Error
)

// SMTPOptions configures an [SMTP]. Nil means the defaults.
type SMTPOptions struct {
	// Port of the server. Default: 587.
	Port int
	// Username and Password authenticate; set both or neither. Default: neither.
	Username, Password string
	// ImplicitTLS starts the connection with TLS. Default: true for port 465. Otherwise
	// STARTTLS is required, or used if it is offered where the host is this machine.
	ImplicitTLS bool
	// AllowPlaintext sends messages without TLS to a server that does not offer STARTTLS, on
	// any host: whoever can read the network can then use the reset codes in them. A password
	// is never sent like this.
	AllowPlaintext bool
	// TLS is the client configuration. Default: TLS 1.2 or later and the system's root
	// certificates; on this machine itself the certificate is not verified.
	TLS *tls.Config
	// Timeout bounds the sending of one message, connecting included. Default: 30 seconds.
	Timeout time.Duration
	// Hello is the client's name in EHLO. Default: the host name.
	Hello string
	// Now returns the time for the Date header. Default: time.Now.
	Now func() time.Time
}

// SMTP sends messages through a server (RFC 5321), each over a connection of its own. It is
// safe for concurrent use. Printing it shows the server's address only.
type SMTP struct {
	host     string
	from     *mail.Address
	opts     SMTPOptions
	loopback bool
}

// NewSMTP returns a mailer over the server at a host, which is a name or an IP address. from is
// the sender's address, with or without a name: "Inventory <inventory@example.org>". NewSMTP
// does not connect. The error names the invalid setting and never contains the password.
func NewSMTP(host, from string, opts *SMTPOptions) (*SMTP, error) {
	ip := net.ParseIP(host)
	s := &SMTP{host: host, opts: *cmp.Or(opts, &SMTPOptions{}), loopback: host == "localhost" || ip != nil && ip.IsLoopback()}
	o := &s.opts
	var err error
	s.from, err = mail.ParseAddress(from)
	switch {
	case err != nil || !isLine(from) || !utf8.ValidString(s.from.Name) || !isAddress(s.from.Address):
		return nil, fmt.Errorf("mail: invalid sender %q: use an address such as inventory@example.org or Inventory <inventory@example.org>", from)
	case host == "" || strings.ContainsAny(host, " /\t\r\n\x00") || strings.Contains(host, ":") && ip == nil:
		return nil, fmt.Errorf("mail: invalid host %q: use a name such as smtp.example.org or an IP address, without a port", host)
	case o.Port < 0 || o.Port > 65535:
		return nil, fmt.Errorf("mail: invalid port %d: use 1 to 65535, or 0 for %d", o.Port, submission)
	case (o.Username == "") != (o.Password == ""):
		return nil, errors.New("mail: user name or password missing: set both or neither")
	case strings.ContainsRune(o.Username+o.Password, 0):
		return nil, errors.New("mail: user name and password must not contain NUL")
	case o.Timeout < 0:
		return nil, fmt.Errorf("mail: invalid timeout %v: use a positive duration, or 0 for %v", o.Timeout, sendTimeout)
	case o.Hello != "" && (!isLine(o.Hello) || strings.Contains(o.Hello, " ")):
		return nil, fmt.Errorf("mail: invalid Hello %q: use a host name", o.Hello)
	}
	o.Port, o.Timeout = cmp.Or(o.Port, submission), cmp.Or(o.Timeout, sendTimeout)
	o.ImplicitTLS = o.ImplicitTLS || o.Port == submissions
	if o.Hello == "" {
		name, _ := os.Hostname()
		o.Hello = cmp.Or(name, "localhost")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.TLS = cmp.Or(o.TLS, &tls.Config{InsecureSkipVerify: s.loopback}).Clone() // #nosec G402 -- on this machine only; see the package comment
	o.TLS.ServerName = cmp.Or(o.TLS.ServerName, host)
	o.TLS.MinVersion = cmp.Or(o.TLS.MinVersion, tls.VersionTLS12)
	return s, nil
}

// String returns the server as host:port.
func (s *SMTP) String() string { return net.JoinHostPort(s.host, strconv.Itoa(s.opts.Port)) }

// GoString returns String.
func (s *SMTP) GoString() string { return s.String() }

// Send sends a message, within SMTPOptions.Timeout. The error is an [*Error] or that of
// [Message.Check].
func (s *SMTP) Send(ctx context.Context, m *Message) error {
	if err := m.Check(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	d := &delivery{SMTP: s, message: m, step: "connect"}
	defer d.close()
	if err := d.run(ctx); err != nil {
		return d.newError(ctx, err)
	}
	return nil
}

// Error is a message that a server did not accept or that did not reach it.
type Error struct {
	Server string // host:port
	Step   string // connect, start session, log in, MAIL FROM, RCPT TO or DATA
	// Code is that of the server's reply (RFC 5321, section 4.2): 4xx for a temporary and 5xx
	// for a permanent failure; 0 if there was no reply.
	Code int
	Text string // of the reply: one line of at most 200 characters, without secrets
	Err  error  // the cause if there was no reply, such as the error of the context

	permanent bool
}

// Error returns server, step and cause in one line.
func (e *Error) Error() string {
	if e.Code != 0 {
		return fmt.Sprintf("mail server %s: %s: %d %s", e.Server, e.Step, e.Code, e.Text)
	}
	return fmt.Sprintf("mail server %s: %s: %v", e.Server, e.Step, e.Err)
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Permanent reports whether another attempt would fail in the same way.
func (e *Error) Permanent() bool { return e.permanent || e.Code >= 500 }

// permanentError marks a cause that a retry cannot remove.
type permanentError struct{ error }

// delivery is the sending of one message.
type delivery struct {
	*SMTP
	message *Message
	step    string
	conn    net.Conn
	release func() bool
}

func (d *delivery) run(ctx context.Context) error {
	msg, err := d.compose()
	if err != nil {
		return err
	}
	client, err := d.open(ctx)
	if err != nil {
		return err
	}
	from, to := d.from.Address, d.message.To
	if ok, _ := client.Extension("SMTPUTF8"); !ok && strings.ContainsFunc(from+to, func(c rune) bool { return c > unicode.MaxASCII }) {
		return permanentError{errors.New("the server does not support addresses beyond ASCII (RFC 6531)")}
	}
	d.step = "MAIL FROM"
	if err := client.Mail("<" + from + ">"); err != nil {
		return err
	}
	d.step = "RCPT TO"
	if err := client.Rcpt("<" + to + ">"); err != nil {
		return err
	}
	d.step = "DATA"
	w, err := client.Data()
	if err != nil {
		return err
	}
	if _, err := msg.WriteTo(w); err != nil {
		return err // not closed, so that the server discards the partial message
	}
	if err := w.Close(); err != nil {
		return err
	}
	_ = client.Quit() // the message is delivered
	return nil
}

// compose returns the message in the form of the library.
func (d *delivery) compose() (*gomail.Msg, error) {
	msg, m := gomail.NewMsg(gomail.WithNoDefaultUserAgent()), d.message
	msg.FromMailAddress(d.from)
	if err := msg.To(m.To); err != nil {
		return nil, err
	}
	msg.Subject(m.Subject)
	msg.SetDateWithValue(d.opts.Now())
	// The library's own message id reveals the host name and process id.
	msg.SetMessageIDWithValue(rand.Text() + d.from.Address[strings.LastIndexByte(d.from.Address, '@'):])
	msg.SetGenHeader("Auto-Submitted", "auto-generated") // no automatic replies; RFC 3834
	if m.Text == "" {
		msg.SetBodyString(gomail.TypeTextHTML, m.HTML)
		return msg, nil
	}
	msg.SetBodyString(gomail.TypeTextPlain, m.Text)
	if m.HTML != "" {
		msg.AddAlternativeString(gomail.TypeTextHTML, m.HTML)
	}
	return msg, nil
}

// open connects, starts TLS and logs in.
func (d *delivery) open(ctx context.Context) (*smtp.Client, error) {
	o, policy := &d.opts, gomail.TLSOpportunistic
	switch {
	case o.ImplicitTLS:
		policy = gomail.NoTLS // dial has done it
	case !d.loopback && (o.Password != "" || !o.AllowPlaintext):
		policy = gomail.TLSMandatory
	}
	options := []gomail.Option{
		gomail.WithPort(o.Port), gomail.WithHELO(o.Hello),
		gomail.WithTimeout(o.Timeout + time.Minute), // later than ctx, which has the better error
		gomail.WithTLSPolicy(policy), gomail.WithTLSConfig(o.TLS),
		// The library's own context ends with the start of the session, so dial uses ctx.
		gomail.WithDialContextFunc(func(_ context.Context, network, addr string) (net.Conn, error) {
			return d.dial(ctx, network, addr)
		}),
	}
	if o.Password != "" {
		options = append(options, gomail.WithSMTPAuthCustom(&login{delivery: d}))
	}
	client, err := gomail.NewClient(d.host, options...)
	if err != nil {
		return nil, err
	}
	return client.DialToSMTPClientWithContext(ctx)
}

// dial makes the connection itself, because the library neither closes it after a failed step
// nor watches the context.
func (d *delivery) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	raw, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	d.conn, d.step = &limitedConn{Conn: raw, left: maxReplies}, "start session"
	d.release = context.AfterFunc(ctx, func() { _ = raw.Close() })
	if !d.opts.ImplicitTLS {
		return d.conn, nil
	}
	secure := tls.Client(d.conn, d.opts.TLS)
	return secure, secure.HandshakeContext(ctx)
}

func (d *delivery) close() {
	if d.conn != nil {
		d.release()
		_ = d.conn.Close() // ignore the error: the message is delivered, or has failed before
	}
}

// newError returns the error of a delivery, without secrets.
func (d *delivery) newError(ctx context.Context, err error) *Error {
	e := &Error{Server: d.String(), Step: d.step}
	_, e.permanent = errors.AsType[permanentError](err)
	if reply, ok := errors.AsType[*textproto.Error](err); ok {
		e.Code, e.Text = reply.Code, d.redact(reply.Msg)
	} else if e.Err = ctx.Err(); e.Err == nil { // the end of ctx closes the connection
		e.Err = errors.New(d.redact(err.Error()))
	}
	return e
}

// redact removes control characters, the password in each form that was sent, and the long
// words of the message, one of which is the reset code.
func (d *delivery) redact(s string) string {
	var secrets []string
	if user, password := d.opts.Username, d.opts.Password; password != "" {
		encode := base64.StdEncoding.EncodeToString
		secrets = append(secrets, encode([]byte("\x00"+user+"\x00"+password)), encode([]byte(password)), password)
	}
	for word := range strings.FieldsSeq(d.message.Text + " " + d.message.HTML) {
		if len(word) >= 16 {
			secrets = append(secrets, word)
		}
	}
	for _, secret := range secrets {
		s = strings.ReplaceAll(s, secret, "***")
	}
	s = strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return ' '
		}
		return c
	}, s)
	if runes := []rune(s); len(runes) > maxReplyText {
		s = string(runes[:maxReplyText]) + "..."
	}
	return s
}

// limitedConn bounds what a server can send.
type limitedConn struct {
	net.Conn
	left int
}

func (c *limitedConn) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, fmt.Errorf("the server sent more than %d bytes", maxReplies)
	}
	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

// login authenticates with the first of PLAIN and LOGIN that the server offers.
type login struct {
	smtp.Auth
	*delivery
}

func (l *login) Start(server *smtp.ServerInfo) (string, []byte, error) {
	l.step = "log in"
	switch {
	case slices.Contains(server.Auth, "PLAIN"):
		l.Auth = smtp.PlainAuth("", l.opts.Username, l.opts.Password, server.Name, l.loopback)
	case slices.Contains(server.Auth, "LOGIN"):
		l.Auth = smtp.LoginAuth(l.opts.Username, l.opts.Password, server.Name, l.loopback)
	default:
		return "", nil, permanentError{errors.New("the server offers neither PLAIN nor LOGIN")}
	}
	return l.Auth.Start(server)
}
