package attack_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
)

// halfHeaders sends the header of an HTTP/1.1 request of about size bytes, without its end.
func halfHeaders(ctx context.Context, t *target, size int) (result, error) {
	header := "GET / HTTP/1.1\r\nHost: " + t.Addr + "\r\n"
	for i := 0; len(header) < size; i++ {
		header += fmt.Sprintf("X-%d: %s\r\n", i, strings.Repeat("x", 1000))
	}
	return t.run(ctx, func(conn net.Conn, all *counts) { sendAndWait(conn, all, header) })
}

// halfBodies sends POST requests whose JSON body of size bytes lacks its last byte. headers are
// added to each request, such as "Authorization: Bearer x".
func halfBodies(ctx context.Context, t *target, path string, size int, headers ...string) (result, error) {
	request := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n", path, t.Addr, size)
	for _, h := range headers {
		request += h + "\r\n"
	}
	request += "\r\n" + `{"x":"` + strings.Repeat("x", max(size-7, 0))
	return t.run(ctx, func(conn net.Conn, all *counts) { sendAndWait(conn, all, request) })
}

// sendAndWait sends the beginning of a request and waits until the server closes the connection.
func sendAndWait(conn net.Conn, all *counts, request string) {
	all.streams.Add(1)
	go io.WriteString(conn, request) // ends with the connection
	responses := bufio.NewReader(conn)
	if res, err := http.ReadResponse(responses, nil); err == nil {
		all.refused.Add(1)
		_ = res.Body.Close()
	}
	_, _ = io.Copy(io.Discard, conn)
}

// slowReaders sends GET requests, many on each connection, and reads nothing. headers are added to
// each request.
func slowReaders(ctx context.Context, t *target, path string, requests int, headers ...string) (result, error) {
	request := fmt.Sprintf("GET %s HTTP/1.1\r\nHost: %s\r\n", path, t.Addr)
	for _, h := range headers {
		request += h + "\r\n"
	}
	request += "\r\n"
	return t.run(ctx, func(conn net.Conn, all *counts) {
		if tcp, ok := conn.(*countingConn).Conn.(*net.TCPConn); ok {
			_ = tcp.SetReadBuffer(4096)
		}
		for range requests {
			if _, err := io.WriteString(conn, request); err != nil {
				return
			}
			all.streams.Add(1)
		}
		waitClosed(ctx, conn)
	})
}
