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

type object = map[string]any

// goPackage returns a package of an SPDX document for a Go module. More are properties that not all have.
func goPackage(id, path, version string, more object) object {
	p := object{
		"SPDXID": id, "name": path, "versionInfo": version, "downloadLocation": "NOASSERTION", "filesAnalyzed": false,
		"externalRefs": []object{{
			"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": "pkg:golang/" + path + "@" + version,
		}},
	}
	maps.Copy(p, more)
	return p
}

// writeSBOM writes the modules of all programs, as the Go command has recorded them in each, as a document of SPDX 2.3.
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
	packages := []object{goPackage(root, "github.com/ashlar-go/ashlar", r.version, nil)}
	relationships := []object{{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": root}}
	for i, module := range slices.Sorted(maps.Keys(sums)) {
		id := fmt.Sprintf("SPDXRef-module-%d", i+1)
		path, version, _ := strings.Cut(module, "@")
		more := object{}
		// The sum of a module is that of a list of its files.
		if sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(sums[module], "h1:")); err == nil && len(sum) == sha256.Size {
			more["checksums"] = []object{{"algorithm": "SHA256", "checksumValue": hex.EncodeToString(sum)}}
		}
		packages = append(packages, goPackage(id, path, version, more))
		relationships = append(relationships, object{"spdxElementId": root, "relationshipType": "DEPENDS_ON", "relatedSpdxElement": id})
	}
	text, err := json.MarshalIndent(object{
		"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": r.name(),
		"documentNamespace": "https://github.com/ashlar-go/ashlar/releases/" + r.version + "/" + r.commit,
		"creationInfo": object{
			"created": time.Unix(r.epoch, 0).UTC().Format(time.RFC3339), "creators": []string{"Tool: ashlar-release"},
		},
		"packages": packages, "relationships": relationships,
	}, "", "  ")
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
