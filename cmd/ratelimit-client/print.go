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

// printFlags shows what the request was made with, sorted by name. Flags that only
// this client has are shown if they were given.
func printFlags(w io.Writer, flags *flag.FlagSet) {
	given := make(map[string]bool)
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	flags.VisitAll(func(f *flag.Flag) {
		if !isOurs(f.Name) || given[f.Name] {
			fmt.Fprintf(w, "Flag: --%s=%q\n", f.Name, f.Value)
		}
	})
}

// printer prints the answers and counts them.
type printer struct {
	out      io.Writer
	json     bool
	codes    map[string]int
	answered int
}

func (p *printer) response(m *ratelimitv3.RateLimitResponse) error {
	if p.codes == nil {
		p.codes = make(map[string]int)
	}
	p.codes[m.GetOverallCode().String()]++
	p.answered++
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

// failed tells of an error where the reference service's client does: on the standard
// output, unless that is for JSON.
func (p *printer) failed(what string, err error) error {
	if p.json {
		return fmt.Errorf("%s: %w", what, err)
	}
	if _, err := fmt.Fprintf(p.out, "%s: %v\n", what, err); err != nil {
		return err
	}
	return errors.New("") // all has been said
}

// summary counts the answers to several calls. It goes where no JSON goes.
func (p *printer) summary(times int, stderr io.Writer) error {
	if times == 1 {
		return nil
	}
	w := p.out
	if p.json {
		w = stderr
	}
	parts := []string{fmt.Sprintf("%d of %d calls answered", p.answered, times)}
	for _, code := range slices.Sorted(maps.Keys(p.codes)) {
		parts = append(parts, fmt.Sprintf("%d %s", p.codes[code], code))
	}
	_, err := fmt.Fprintf(w, "summary: %s\n", strings.Join(parts, ", "))
	return err
}

// jsonOf is the message as one line. Like that of the text form, the library varies
// the white space.
func jsonOf(m proto.Message) ([]byte, error) {
	loose, err := protojson.Marshal(m)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = json.Compact(&b, loose)
	return b.Bytes(), err
}

// textOf is the text form on one line, with one space between fields.
func textOf(m proto.Message) string {
	loose := prototext.MarshalOptions{}.Format(m)
	b := make([]byte, 0, len(loose))
	inString := false
	for i := 0; i < len(loose); i++ {
		c := loose[i]
		switch {
		case inString && c == '\\' && i+1 < len(loose): // the next one does not end it
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
