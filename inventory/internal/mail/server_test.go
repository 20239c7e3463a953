package mail_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ashlar-go/ashlar/inventory/internal/mail"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const password = "correct horse battery"

// server is a real mail server that records what it received.
type server struct {
	mechanisms []string // to log in with
	refuse     func(step, value string) error

	host string
	port int

	mu    sync.Mutex
	mails []received
}

// received is a delivered message.
type received struct {
	from, to, body string
	secure         bool
	login          string // how, and who
}

type serverMode uint8

const (
	plainServer serverMode = iota
	startTLSServer
	tlsServer
)

// start serves on 127.0.0.1 until the test ends.
func (s *server) start(t *testing.T, mode serverMode, cert *certificate) *server {
	t.Helper()
	s.host = "127.0.0.1"
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s.port = listener.Addr().(*net.TCPAddr).Port
	srv := smtp.NewServer(smtp.BackendFunc(s.session))
	srv.Domain, srv.AllowInsecureAuth = "test", true
	srv.ErrorLog = log.New(io.Discard, "", 0)
	if mode != plainServer {
		srv.TLSConfig = cert.server
	}
	if mode == tlsServer {
		listener = tls.NewListener(listener, cert.server)
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = srv.Serve(listener) })
	t.Cleanup(func() {
		_ = srv.Close()
		_ = listener.Close() // which the server does not know of before Serve has begun
		serving.Wait()
	})
	return s
}

// mailer returns a client of the server.
func (s *server) mailer(t *testing.T, opts mail.SMTPOptions) *mail.SMTP {
	t.Helper()
	opts.Port = s.port
	m, err := mail.NewSMTP(s.host, "Inventory <inventory@example.org>", &opts)
	require.NoError(t, err)
	return m
}

func (s *server) received() []received {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]received(nil), s.mails...)
}

func (s *server) session(c *smtp.Conn) (smtp.Session, error) {
	if err := s.refused("greeting", ""); err != nil {
		return nil, err
	}
	_, secure := c.TLSConnectionState()
	return newSession(smtp.AuthSession.Auth, session{server: s, conn: c, mail: received{secure: secure}}), nil
}

func (s *server) refused(step, value string) error {
	if s.refuse == nil {
		return nil
	}
	return s.refuse(step, value)
}

type session struct {
	server *server
	conn   *smtp.Conn
	mail   received
}

// loginSession adds authentication. S is a type of an indirect dependency, inferred from the
// server's API so that it need not be imported.
type loginSession[S any] struct{ *session }

func newSession[S any](_ func(smtp.AuthSession, string) (S, error), s session) *loginSession[S] {
	return &loginSession[S]{&s}
}

func (s *loginSession[S]) AuthMechanisms() []string { return s.server.mechanisms }

func (s *loginSession[S]) Auth(mechanism string) (S, error) {
	return any(&loginServer{mechanism: mechanism, check: func(name, pass string) error {
		if err := s.server.refused("auth", name+" "+pass); err != nil {
			return err
		}
		if name != "inventory" || pass != password {
			return smtp.ErrAuthFailed
		}
		s.mail.login = mechanism + " " + name
		return nil
	}}).(S), nil
}

// loginServer is the other side of PLAIN (RFC 4616) and LOGIN.
type loginServer struct {
	mechanism string
	check     func(name, pass string) error
	asked     bool
	name      *string
}

func (l *loginServer) Next(response []byte) (challenge []byte, done bool, err error) {
	text := string(response)
	switch {
	case l.mechanism == "PLAIN":
		parts := strings.Split(text, "\x00")
		if len(parts) != 3 || parts[0] != "" {
			return nil, true, errors.New("not PLAIN: " + text)
		}
		return nil, true, l.check(parts[1], parts[2])
	case !l.asked:
		l.asked = true
		return []byte("Username:"), false, nil
	case l.name == nil:
		l.name = &text
		return []byte("Password:"), false, nil
	}
	return nil, true, l.check(*l.name, text)
}

func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	s.mail.from = from
	return s.server.refused("mail", from)
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.mail.to = to
	return s.server.refused("rcpt", to)
}

func (s *session) Data(r io.Reader) error {
	body, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if err := s.server.refused("data", string(body)); errors.Is(err, errHangUp) {
		s.conn.Close()
		return err
	} else if err != nil {
		return err
	}
	s.mail.body = string(body)
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.server.mails = append(s.server.mails, s.mail)
	return nil
}

func (*session) Reset()        {}
func (*session) Logout() error { return nil }

// errHangUp makes the server close the connection instead of replying.
var errHangUp = errors.New("hang up")

// certificate is a certificate for 127.0.0.1 and localhost, and its issuer.
type certificate struct {
	server, client *tls.Config
}

func newCertificate(t *testing.T) *certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour), BasicConstraintsValid: true, IsCA: true,
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	leaf, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return &certificate{
		server: &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}},
		client: &tls.Config{RootCAs: pool},
	}
}

// message returns a valid message.
func message() *mail.Message {
	return &mail.Message{To: "jane@example.org", Subject: "Grüße", Text: "Hello Jane\n", HTML: "<p>Hello Jane</p>\n"}
}

// scripted is a server that sends one line of a script for each line it reads, and for each
// message. It stops responding at an empty line, and closes the connection after the last one.
func scripted(t *testing.T, lines ...string) *server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var wg sync.WaitGroup
	var conns sync.Map
	wg.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conns.Store(conn, nil)
			wg.Go(func() { play(conn, lines) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		conns.Range(func(conn, _ any) bool {
			_ = conn.(net.Conn).Close()
			return true
		})
		wg.Wait()
	})
	return &server{host: "127.0.0.1", port: listener.Addr().(*net.TCPAddr).Port}
}

func play(conn net.Conn, lines []string) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	for i, line := range lines {
		if i > 0 && readUntilReply(r, lines[i-1]) != nil {
			return
		}
		if line == "" {
			_, _ = io.Copy(io.Discard, r)
			return
		}
		if _, err := io.WriteString(conn, strings.ReplaceAll(line, "\n", "\r\n")+"\r\n"); err != nil {
			return
		}
	}
}

// readUntilReply reads the client's next line, or the whole message after a 354 reply. Closing
// a connection with unread data would discard the last reply.
func readUntilReply(r *bufio.Reader, sent string) error {
	end := "\n"
	if strings.HasPrefix(sent, "354") {
		end = "\r\n.\r\n"
	}
	for received := ""; !strings.HasSuffix(received, end); {
		line, err := r.ReadString('\n')
		if err != nil {
			return err
		}
		received += line
	}
	return nil
}
