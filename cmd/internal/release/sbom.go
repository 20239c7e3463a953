package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// spdx is a document of SPDX 2.3.
type spdx struct {
	Version       string         `json:"spdxVersion"`
	License       string         `json:"dataLicense"`
	ID            string         `json:"SPDXID"`
	Name          string         `json:"name"`
	Namespace     string         `json:"documentNamespace"`
	Creation      creation       `json:"creationInfo"`
	Packages      []spdxPackage  `json:"packages"`
	Relationships []relationship `json:"relationships"`
}

type creation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type spdxPackage struct {
	Name      string      `json:"name"`
	ID        string      `json:"SPDXID"`
	Version   string      `json:"versionInfo"`
	Location  string      `json:"downloadLocation"`
	Analyzed  bool        `json:"filesAnalyzed"`
	Checksums []checksum  `json:"checksums,omitempty"`
	Refs      []reference `json:"externalRefs"`
}

type checksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type reference struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relationship struct {
	From string `json:"spdxElementId"`
	Type string `json:"relationshipType"`
	To   string `json:"relatedSpdxElement"`
}

// writeSBOM writes the modules of all programs, as the Go command has recorded them in each.
func (r *release) writeSBOM() error {
	sums := map[string]string{} // by path and version
	for _, file := range r.built {
		info, err := buildinfo.ReadFile(file)
		if err != nil {
			return err
		}
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			sums[m.Path+"@"+m.Version] = m.Sum
		}
		sums["stdlib@"+info.GoVersion] = ""
	}
	const root = "SPDXRef-ashlar"
	d := spdx{
		Version: "SPDX-2.3", License: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: r.name(),
		Namespace: "https://github.com/ashlar-go/ashlar/releases/" + r.version + "/" + r.commit,
		Creation:  creation{time.Unix(r.epoch, 0).UTC().Format(time.RFC3339), []string{"Tool: ashlar-release"}},
		Packages: []spdxPackage{{
			Name: "github.com/ashlar-go/ashlar", ID: root, Version: r.version, Location: "NOASSERTION",
			Refs: []reference{{"PACKAGE-MANAGER", "purl", "pkg:golang/github.com/ashlar-go/ashlar@" + r.version}},
		}},
		Relationships: []relationship{{"SPDXRef-DOCUMENT", "DESCRIBES", root}},
	}
	for i, module := range slices.Sorted(maps.Keys(sums)) {
		path, version, _ := strings.Cut(module, "@")
		p := spdxPackage{
			Name: path, ID: fmt.Sprintf("SPDXRef-module-%d", i+1), Version: version, Location: "NOASSERTION",
			Refs: []reference{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + module}},
		}
		// The sum of a module is that of a list of its files.
		if sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(sums[module], "h1:")); err == nil && len(sum) == sha256.Size {
			p.Checksums = []checksum{{"SHA256", hex.EncodeToString(sum)}}
		}
		d.Packages = append(d.Packages, p)
		d.Relationships = append(d.Relationships, relationship{root, "DEPENDS_ON", p.ID})
	}
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err
	}
	return r.write(r.name("sbom")+".spdx.json", append(text, '\n'))
}

// writeSums writes the SHA-256 of each file.
func (r *release) writeSums() error {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var lines strings.Builder
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		data, err := os.ReadFile(filepath.Join(r.out, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&lines, "%x  %s\n", sha256.Sum256(data), e.Name())
	}
	return r.write("SHA256SUMS", []byte(lines.String()))
}
