package memcachetest

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strings"
)

// Ask sends one command, such as "mg key t v" or, with the data on a second line, "ms
// key 2\r\n42", and returns the answer without the ends of its lines: one line, and a
// second one if that is data. The test fails if there is no answer.
func (s *Server) Ask(command string) string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	answer, err := s.ask(ctx, s.Addr, command)
	if err != nil {
		s.t.Fatalf("memcachetest: asking %q: %v", command, err)
	}
	return answer
}

// Value is what is stored under the key, "" if nothing is.
func (s *Server) Value(key string) string {
	s.t.Helper()
	_, value, _ := strings.Cut(s.Ask("mg "+key+" v"), "\n")
	return value
}

// Set stores a value under the key, for good.
func (s *Server) Set(key, value string) {
	s.t.Helper()
	if answer := s.Ask(fmt.Sprintf("ms %s %d\r\n%s", key, len(value), value)); answer != "HD" {
		s.t.Fatalf("memcachetest: storing %q: the answer is %q", key, answer)
	}
}

func (s *Server) ask(ctx context.Context, addr, command string) (string, error) {
	conn, err := s.dial(ctx, addr)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	if end, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(end)
	}
	if _, err := conn.Write([]byte(command + "\r\n")); err != nil {
		return "", err
	}
	r := bufio.NewReader(conn)
	line, err := r.ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "VA ") {
		return strings.TrimSpace(line), err
	}
	data, err := r.ReadString('\n')
	return strings.TrimSpace(line) + "\n" + strings.TrimRight(data, "\r\n"), err
}

func (s *Server) dial(ctx context.Context, addr string) (net.Conn, error) {
	if s.client == nil {
		return new(net.Dialer).DialContext(ctx, "tcp", addr)
	}
	return (&tls.Dialer{Config: s.ClientTLS()}).DialContext(ctx, "tcp", addr)
}
