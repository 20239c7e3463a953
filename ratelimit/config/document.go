package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"gopkg.in/yaml.v3"
)

// readDocument parses the only document of a file. The root is nil if there is
// none; ok is false if the file is not YAML.
func readDocument(r *report, data []byte) (root *yaml.Node, ok bool) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	root, err := nextDocument(dec)
	for err == nil {
		var more *yaml.Node
		more, err = nextDocument(dec)
		if err == nil && !isNull(more) {
			r.fault(markOf(more), "error loading config file: a file holds one document, and another one begins here: put it into a file of its own")
			return root, true
		}
	}
	if !errors.Is(err, io.EOF) {
		reportSyntax(r, data, err)
		return nil, false
	}
	return root, true
}

// nextDocument returns the top of the next document, or io.EOF. That the YAML
// library gives up with a panic on some inputs must not end the process.
func nextDocument(dec *yaml.Decoder) (root *yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			root, err = nil, fmt.Errorf("yaml: %v", r)
		}
	}()
	var doc yaml.Node
	if err := dec.Decode(&doc); err != nil {
		return nil, err
	}
	return doc.Content[0], nil
}
