package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

// printFlags prints the flags, sorted by name. Flags that the reference service's client
// lacks are printed only if they are set.
func printFlags(w io.Writer, flags *flag.FlagSet) {
	given := make(map[string]bool)
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	flags.VisitAll(func(f *flag.Flag) {
		if !isExtension(f.Name) || given[f.Name] {
			fmt.Fprintf(w, "Flag: --%s=%q\n", f.Name, f.Value)
		}
	})
}

// printer prints responses and counts them.
type printer struct {
	out       io.Writer
	json      bool
	codes     map[string]int
	responses int
}

func (p *printer) response(m *ratelimitv3.RateLimitResponse) error {
	if p.codes == nil {
		p.codes = make(map[string]int)
	}
	p.codes[m.GetOverallCode().String()]++
	p.responses++
	if !p.json {
		_, err := fmt.Fprintf(p.out, "response: %s\n", textOf(m))
		return err
	}
	line, err := jsonOf(m)
	if err != nil {
		return err
	}
	_, err = p.out.Write(append(line, '\n'))
	return err
}

// fail prints an error on the standard output, as the reference service's client does. With
// -json it returns the error instead, to be printed on the standard error stream.
func (p *printer) fail(what string, err error) error {
	if p.json {
		return fmt.Errorf("%s: %w", what, err)
	}
	if _, err := fmt.Fprintf(p.out, "%s: %v\n", what, err); err != nil {
		return err
	}
	return errors.New("") // the error is already printed; an empty one only sets the exit code
}

// summary prints the number of responses by code, if there was more than one request. With
// -json it prints to stderr.
func (p *printer) summary(requests int, stderr io.Writer) error {
	if requests == 1 {
		return nil
	}
	w := p.out
	if p.json {
		w = stderr
	}
	parts := []string{fmt.Sprintf("%d of %d requests succeeded", p.responses, requests)}
	for _, code := range slices.Sorted(maps.Keys(p.codes)) {
		parts = append(parts, fmt.Sprintf("%d %s", p.codes[code], code))
	}
	_, err := fmt.Fprintf(w, "summary: %s\n", strings.Join(parts, ", "))
	return err
}

// jsonOf encodes the message on one line, without the white space that the library varies.
func jsonOf(m proto.Message) ([]byte, error) {
	loose, err := protojson.Marshal(m)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = json.Compact(&b, loose)
	return b.Bytes(), err
}

// textOf formats the message in the text format on one line, with one space between fields.
func textOf(m proto.Message) string {
	loose := prototext.MarshalOptions{}.Format(m)
	b := make([]byte, 0, len(loose))
	inString := false
	for i := 0; i < len(loose); i++ {
		c := loose[i]
		switch {
		case inString && c == '\\' && i+1 < len(loose): // an escaped quote does not end the string
			b = append(b, c)
			i++
			c = loose[i]
		case c == '"':
			inString = !inString
		case c == ' ' && !inString && len(b) > 0 && b[len(b)-1] == ' ':
			continue
		}
		b = append(b, c)
	}
	return string(b)
}
