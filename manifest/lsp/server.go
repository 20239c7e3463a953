package lsp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/manifest"
)

// Options are optional settings. A nil *Options and zero fields mean the defaults.
type Options struct {
	// Profile are the rules. Default: manifest.Neutral.
	Profile manifest.Profile
	// Format formats a document. Default: no formatting.
	Format func(text []byte) ([]byte, error)
	// Version is that of the program, for the editor to show. Default: none.
	Version string
}

// Limits.
const (
	maxMessage   = 32 << 20
	maxHeader    = 4 << 10
	maxDocuments = 1000
)

// Serve talks to an editor until it sends exit, the input ends or ctx does. The error is nil after a
// shutdown and exit, that of ctx, or says what was wrong. A read from in that is in progress when
// ctx ends goes on until in ends.
func Serve(ctx context.Context, in io.Reader, out io.Writer, opts *Options) error {
	s := &server{out: out, documents: map[string]*document{}, schema: newSchema()}
	if opts != nil {
		s.opts = *opts
	}
	messages := make(chan received)
	go receive(ctx, bufio.NewReader(in), messages)
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case m := <-messages:
			if m.err != nil {
				return m.err
			}
			if done, err := s.handle(m.body); done || err != nil {
				return err
			}
		}
	}
}

// received is a message or the reason why there are no more.
type received struct {
	body []byte
	err  error
}

// receive reads messages until there is an error.
func receive(ctx context.Context, in *bufio.Reader, to chan<- received) {
	for {
		body, err := readMessage(in)
		select {
		case to <- received{body, err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// readMessage reads a message with its header.
func readMessage(in *bufio.Reader) ([]byte, error) {
	length, size := -1, 0
	for {
		line, err := in.ReadSlice('\n')
		size += len(line)
		switch {
		case errors.Is(err, bufio.ErrBufferFull) || size > maxHeader:
			return nil, fmt.Errorf("the header of a message has more than %d bytes", maxHeader)
		case errors.Is(err, io.EOF) && size == 0:
			return nil, errors.New("the input ended without shutdown and exit")
		case err != nil:
			return nil, err
		}
		name, value, found := strings.Cut(strings.TrimSpace(string(line)), ":")
		if name == "" && !found {
			break
		}
		if strings.EqualFold(name, "Content-Length") {
			if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil || length < 0 || length > maxMessage {
				return nil, fmt.Errorf("the Content-Length of a message must be a number up to %d", maxMessage)
			}
		}
	}
	if length < 0 {
		return nil, errors.New("a message has no Content-Length")
	}
	var body bytes.Buffer // grows with what is there
	if n, err := io.CopyN(&body, in, int64(length)); err != nil {
		return nil, fmt.Errorf("a message ended after %d of %d bytes: %w", n, length, err)
	}
	return body.Bytes(), nil
}

// server is a session.
type server struct {
	opts              Options
	out               io.Writer
	documents         map[string]*document
	schema            *schema
	initialized, shut bool
}

// message is a request, a notification or a response.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
}

// The codes of errors.
const (
	parseError     = -32700
	invalidRequest = -32600
	methodNotFound = -32601
	invalidParams  = -32602
	notInitialized = -32002
)

// responseError is the error of a response.
type responseError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *responseError) Error() string { return e.Message }

// handle handles a message. It returns true at the end of the session.
func (s *server) handle(body []byte) (done bool, err error) {
	var m message
	if err := json.Unmarshal(body, &m); err != nil {
		return false, s.reply(json.RawMessage("null"), nil, &responseError{parseError, "the message is not JSON"})
	}
	if m.Method == "" {
		return false, nil // a response; this server sends no requests
	}
	if m.Method == "exit" {
		if !s.shut {
			return true, errors.New("exit without shutdown")
		}
		return true, nil
	}
	result, err := s.call(&m)
	if m.ID == nil {
		return false, s.failure(err)
	}
	if refused, ok := errors.AsType[*responseError](err); ok {
		return false, s.reply(m.ID, nil, refused)
	}
	if err != nil {
		return false, err
	}
	return false, s.reply(m.ID, result, nil)
}

// failure returns an error of the connection; others of a notification have nobody to go to.
func (s *server) failure(err error) error {
	if _, ok := errors.AsType[*responseError](err); ok {
		return nil
	}
	return err
}

// call calls a method.
func (s *server) call(m *message) (any, error) {
	switch {
	case m.Method == "initialize":
		s.initialized = true
		return s.capabilities(), nil
	case !s.initialized:
		return nil, &responseError{notInitialized, "initialize first"}
	case s.shut:
		return nil, &responseError{invalidRequest, "the session was shut down"}
	}
	switch m.Method {
	case "shutdown":
		s.shut = true
		return nil, nil
	case "textDocument/didOpen":
		return nil, s.open(m.Params)
	case "textDocument/didChange":
		return nil, s.change(m.Params)
	case "textDocument/didClose":
		return nil, s.close(m.Params)
	case "textDocument/completion":
		return s.completion(m.Params)
	case "textDocument/hover":
		return s.hover(m.Params)
	case "textDocument/codeAction":
		return s.codeAction(m.Params)
	case "textDocument/formatting":
		return s.formatting(m.Params)
	}
	return nil, &responseError{methodNotFound, "unknown method " + strconv.Quote(m.Method)}
}

// object is an object of the protocol.
type object map[string]any

func (s *server) capabilities() any {
	return object{
		"capabilities": object{
			"positionEncoding":           "utf-16",
			"textDocumentSync":           object{"openClose": true, "change": 1},
			"completionProvider":         object{"triggerCharacters": []string{`"`}},
			"hoverProvider":              true,
			"codeActionProvider":         object{"codeActionKinds": []string{"quickfix"}},
			"documentFormattingProvider": s.opts.Format != nil,
		},
		"serverInfo": object{"name": "manifest", "version": s.opts.Version},
	}
}

func (s *server) reply(id json.RawMessage, result any, refused *responseError) error {
	if refused != nil {
		return s.send(object{"jsonrpc": "2.0", "id": id, "error": refused})
	}
	return s.send(object{"jsonrpc": "2.0", "id": id, "result": result})
}

func (s *server) notify(method string, params any) error {
	return s.send(object{"jsonrpc": "2.0", "method": method, "params": params})
}

func (s *server) send(m object) error {
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "Content-Length: %d\r\n\r\n%s", len(body), body)
	return err
}

// params decodes parameters.
func params[T any](raw json.RawMessage) (T, error) {
	var p T
	if err := json.Unmarshal(raw, &p); err != nil {
		return p, &responseError{invalidParams, "the parameters are not those of the method"}
	}
	return p, nil
}
