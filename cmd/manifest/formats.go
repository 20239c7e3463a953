package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/ashlar-go/ashlar/manifest"
)

// writeIndented writes indented JSON.
func writeIndented(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

type object = map[string]any

func writeJSON(w io.Writer, results []checked) error {
	files := make([]any, len(results))
	valid := true
	for i := range results {
		r := results[i].report
		files[i] = object{
			"file": results[i].name(), "valid": r.Valid(), "errors": r.Errors, "warnings": r.Warnings,
			"omitted": r.Omitted(), "problems": r.Problems,
		}
		valid = valid && r.Valid()
	}
	return writeIndented(w, object{"valid": valid, "files": files})
}

// writeSARIF writes the Static Analysis Results Interchange Format, version 2.1.0.
func writeSARIF(w io.Writer, results []checked) error {
	rules := []any{}
	for _, r := range manifest.Rules() {
		rules = append(rules, object{"id": r.Rule, "shortDescription": object{"text": r.Summary}, "properties": object{"layer": r.Category}})
	}
	found := []any{}
	for i := range results {
		for j := range results[i].report.Problems {
			found = append(found, sarifResult(results[i].path, &results[i].report.Problems[j]))
		}
	}
	return writeIndented(w, object{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json",
		"version": "2.1.0",
		"runs": []any{object{
			"tool":       object{"driver": object{"name": "manifest", "rules": rules}},
			"columnKind": "unicodeCodePoints",
			"results":    found,
		}},
	})
}

// fullMessage returns the message with the suggestion.
func fullMessage(p *manifest.Problem) string {
	if p.Suggestion == "" {
		return p.Message
	}
	return p.Message + " (" + p.Suggestion + ")"
}

func sarifResult(path string, p *manifest.Problem) object {
	file := object{"uri": (&url.URL{Path: filepath.ToSlash(path)}).String()}
	region := func(start, end int) object { return object{"byteOffset": start, "byteLength": end - start} }
	at := region(p.Offset, p.End)
	at["startLine"], at["startColumn"] = p.Line, p.Column
	result := object{
		"ruleId": p.Rule, "level": p.Severity, "message": object{"text": fullMessage(p)},
		"locations": []any{object{
			"physicalLocation": object{"artifactLocation": file, "region": at},
			"logicalLocations": []any{object{"fullyQualifiedName": p.Pointer, "kind": "value"}},
		}},
	}
	if p.Fix != nil {
		change := object{"deletedRegion": region(p.Fix.Offset, p.Fix.End), "insertedContent": object{"text": p.Fix.Text}}
		result["fixes"] = []any{object{
			"description":     object{"text": p.Suggestion},
			"artifactChanges": []any{object{"artifactLocation": file, "replacements": []any{change}}},
		}}
	}
	return result
}

// writeGitHub writes workflow commands, which annotate the lines of a change.
func writeGitHub(w io.Writer, results []checked) error {
	var b bytes.Buffer
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	for i := range results {
		for j := range results[i].report.Problems {
			p := &results[i].report.Problems[j]
			fmt.Fprintf(&b, "::%s file=%s,line=%d,col=%d,title=%s::%s\n",
				p.Severity, property.Replace(results[i].path), p.Line, p.Column, property.Replace(string(p.Rule)), data.Replace(fullMessage(p)))
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}
