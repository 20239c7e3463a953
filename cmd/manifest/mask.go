package main

import (
	"bytes"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/manifest"
)

// masked is a manifest as it may be shown: every byte of what a secret input holds is
// an asterisk, so that offsets stay right. It returns nil for text that is not JSON and
// may have secrets: where they are is not known.
func masked(data []byte) []byte {
	doc, _ := manifest.Parse(data, nil)
	if doc.Root() == nil {
		if bytes.Contains(bytes.ToLower(data), []byte("secret")) {
			return nil
		}
		return data
	}
	m := masker{data: bytes.Clone(data)}
	m.walk(doc.Root())
	return m.data
}

type masker struct{ data []byte }

// walk looks for objects that call themselves secret, wherever they are.
func (m *masker) walk(n *manifest.Node) {
	secret := slices.ContainsFunc(n.Members, saysSecret)
	for i := range n.Members {
		k := &n.Members[i]
		switch strings.ToLower(k.Key) {
		case "value", "default", "choices", "placeholder":
			if secret {
				m.hide(&k.Value)
			}
		}
		m.walk(&k.Value)
	}
	for i := range n.Elements {
		m.walk(&n.Elements[i])
	}
}

// saysSecret is generous: what is wrong with a manifest may be the key or the value
// itself, as "IsSecret": true, "isSecret": "true" or one that is there twice.
func saysSecret(m manifest.Member) bool {
	return strings.EqualFold(strings.ReplaceAll(m.Key, "_", ""), "isSecret") && m.Value.Text != "false"
}

// hide masks the insides of a value: quotes and brackets stay.
func (m *masker) hide(n *manifest.Node) {
	for i := range n.Elements {
		m.hide(&n.Elements[i])
	}
	for i := range n.Members {
		m.hide(&n.Members[i].Value)
	}
	switch n.Kind {
	case manifest.KindString:
		stars(m.data[n.Start+1 : n.End-1])
	case manifest.KindNumber:
		stars(m.data[n.Start:n.End])
	}
}

func stars(b []byte) {
	for i := range b {
		b[i] = '*'
	}
}
