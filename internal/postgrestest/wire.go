package postgrestest

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
)

// The protocol is version 3.0, whose messages are a letter, a length that counts itself,
// and that much less four bytes.
const (
	protocol   = 3 << 16
	maxMessage = 1 << 20
)

// ready is nil if a server lets clients in.
func ready(ctx context.Context, addr string) error { return run(ctx, addr, "") }

// run connects, and sends statements if there are any. It returns when they have been
// run, or when ctx is done.
func run(ctx context.Context, addr, statements string) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	in := bufio.NewReader(conn)
	hello := binary.BigEndian.AppendUint32(nil, protocol)
	hello = append(hello, "user\x00"+superuser+"\x00database\x00postgres\x00\x00"...)
	if err := ask(conn, in, "", hello); err != nil || statements == "" {
		return err
	}
	return ask(conn, in, "Q", append([]byte(statements), 0))
}

// ask sends one message and reads until the server waits for the next one.
func ask(conn io.Writer, in io.Reader, letter string, body []byte) error {
	message := binary.BigEndian.AppendUint32([]byte(letter), uint32(len(body)+4))
	if _, err := conn.Write(append(message, body...)); err != nil {
		return err
	}
	var failed error
	for {
		letter, body, err := receive(in)
		switch {
		case err != nil:
			return errors.Join(failed, err)
		case letter == 'E':
			failed = complaint(body)
		case letter == 'Z':
			return failed
		}
	}
}

func receive(in io.Reader) (letter byte, body []byte, err error) {
	var head [5]byte
	if _, err = io.ReadFull(in, head[:]); err != nil {
		return 0, nil, err
	}
	length := binary.BigEndian.Uint32(head[1:])
	if length < 4 || length > maxMessage {
		return 0, nil, fmt.Errorf("a message of %d bytes, which no server sends", length)
	}
	body = make([]byte, length-4)
	_, err = io.ReadFull(in, body)
	return head[0], body, err
}

// complaint is the error of a message, whose parts are a letter and a text each.
func complaint(body []byte) error {
	for part := range strings.SplitSeq(string(body), "\x00") {
		if text, is := strings.CutPrefix(part, "M"); is {
			return errors.New(text)
		}
	}
	return errors.New("an error without a message")
}
