package mail

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"
)

// delivery is the sending of one mail.
type delivery struct {
	server  *SMTP
	message *Message
	step    string // for errors
	conn    net.Conn
	release func() bool
}

func (d *delivery) run(ctx context.Context) error {
	msg, err := d.server.compose(d.message)
	if err != nil {
		return err
	}
	client, err := d.open(ctx)
	if err != nil {
		return err
	}
	if err := d.send(client, msg); err != nil {
		return err
	}
	_ = client.Quit() // the mail is theirs by now
	return nil
}

// open connects, and does all that comes before the mail.
func (d *delivery) open(ctx context.Context) (*smtp.Client, error) {
	o := &d.server.opts
	policy := gomail.TLSOpportunistic
	switch {
	case o.ImplicitTLS:
		policy = gomail.NoTLS // it is there already
	case o.Password != "" && !d.server.loopback:
		policy = gomail.TLSMandatory
	}
	options := []gomail.Option{
		gomail.WithPort(o.Port), gomail.WithHELO(o.Hello),
		gomail.WithTimeout(o.Timeout + time.Minute), // well after ctx, whose end has an error of its own
		gomail.WithTLSPolicy(policy), gomail.WithTLSConfig(o.TLS),
		// Not the context that the library has for it, which ends when the session has begun.
		gomail.WithDialContextFunc(func(_ context.Context, network, addr string) (net.Conn, error) {
			return d.dial(ctx, network, addr)
		}),
	}
	if o.Password != "" {
		options = append(options, gomail.WithSMTPAuthCustom(&login{delivery: d}))
	}
	client, err := gomail.NewClient(d.server.host, options...)
	if err != nil {
		return nil, err
	}
	return client.DialToSMTPClientWithContext(ctx)
}

// dial is how the library gets its connection: from here, because it leaves it open where
// a later step fails, and does not look at the context any more.
func (d *delivery) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	raw, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	d.conn, d.step = &boundedConn{Conn: raw, left: maxAnswers}, "begin the session"
	d.release = context.AfterFunc(ctx, func() { raw.Close() })
	if !d.server.opts.ImplicitTLS {
		return d.conn, nil
	}
	secure := tls.Client(d.conn, d.server.opts.TLS)
	return secure, secure.HandshakeContext(ctx)
}

// send hands the mail over.
func (d *delivery) send(client *smtp.Client, msg *gomail.Msg) error {
	from, to := d.server.from.Address, d.message.To
	if ok, _ := client.Extension("SMTPUTF8"); !ok && !isASCII(from+to) {
		return finalError{errors.New("the server takes no addresses with letters beyond ASCII (RFC 6531)")}
	}
	d.step = "name the sender"
	if err := client.Mail("<" + from + ">"); err != nil {
		return err
	}
	d.step = "name the recipient"
	if err := client.Rcpt("<" + to + ">"); err != nil {
		return err
	}
	d.step = "send the mail"
	w, err := client.Data()
	if err != nil {
		return err
	}
	if _, err := msg.WriteTo(w); err != nil {
		return err // without the end, so that the server drops what it has of it
	}
	return w.Close()
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool { return c > 127 })
}

// close ends the connection, if there is one.
func (d *delivery) close() {
	if d.conn != nil {
		d.release()
		d.conn.Close()
	}
}

// maxAnswers is how many bytes a server may send in all. What a talkative one says, with
// its certificates, is a tenth of it.
const maxAnswers = 256 << 10

// boundedConn is a connection on which not everything is read.
type boundedConn struct {
	net.Conn
	left int
}

func (c *boundedConn) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, errors.New("the server says too much")
	}
	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

// login is the first of PLAIN and LOGIN that the server offers.
type login struct {
	smtp.Auth
	delivery *delivery
}

func (l *login) Start(server *smtp.ServerInfo) (string, []byte, error) {
	s := l.delivery.server
	l.delivery.step = "log in"
	name, password := s.opts.Username, s.opts.Password
	switch {
	case slices.Contains(server.Auth, "PLAIN"):
		l.Auth = smtp.PlainAuth("", name, password, server.Name, s.loopback)
	case slices.Contains(server.Auth, "LOGIN"):
		l.Auth = smtp.LoginAuth(name, password, server.Name, s.loopback)
	default:
		return "", nil, finalError{errors.New("the server offers neither PLAIN nor LOGIN to log in with")}
	}
	return l.Auth.Start(server)
}
