package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/ashlar-go/ashlar/cmd/inventory-collect/internal/collect"
)

// The bounds of files.
const (
	maxSecretFile  = 64 << 10
	maxTargetsFile = 16 << 20
	maxTargets     = 100_000
)

// The variables of credentials.
const (
	communityVar  = "SNMP_COMMUNITY"
	userVar       = "SNMP_USER"
	authVar       = "SNMP_AUTH_PROTOCOL"
	authPhraseVar = "SNMP_AUTH_PASSPHRASE"
	privVar       = "SNMP_PRIV_PROTOCOL"
	privPhraseVar = "SNMP_PRIV_PASSPHRASE"
)

// readCredentials reads the credentials from files, or else from the environment. Errors have no secrets.
func readCredentials(environ map[string]string, communityFile, credentialsFile string) (collect.Credentials, error) {
	if communityFile != "" && credentialsFile != "" {
		return collect.Credentials{}, errors.New("-community-file and -credentials-file: use one of them")
	}
	vars := environ
	if communityFile != "" {
		data, err := readFile(communityFile, maxSecretFile, true)
		if err != nil {
			return collect.Credentials{}, fmt.Errorf("-community-file: %w", err)
		}
		vars = map[string]string{communityVar: strings.TrimSpace(string(data))}
	}
	if credentialsFile != "" {
		data, err := readFile(credentialsFile, maxSecretFile, true)
		if err == nil {
			vars, err = parseCredentials(data)
		}
		if err != nil {
			return collect.Credentials{}, fmt.Errorf("-credentials-file: %w", err)
		}
	}
	return collect.Credentials{
		Community: vars[communityVar], User: vars[userVar],
		AuthProtocol: vars[authVar], AuthPassphrase: vars[authPhraseVar],
		PrivProtocol: vars[privVar], PrivPassphrase: vars[privPhraseVar],
	}, nil
}

// parseCredentials reads lines NAME=value. Blank lines and those that begin with # are ignored.
func parseCredentials(data []byte) (map[string]string, error) {
	known := []string{communityVar, userVar, authVar, authPhraseVar, privVar, privPhraseVar}
	vars := map[string]string{}
	for i, line := range strings.Split(string(data), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, _ := strings.Cut(line, "=")
		if !slices.Contains(known, name) { // it may be a secret
			return nil, fmt.Errorf("line %d: must begin with a variable and =: use %s", i+1, strings.Join(known, ", "))
		}
		if _, ok := vars[name]; ok {
			return nil, fmt.Errorf("line %d: duplicate %s", i+1, name)
		}
		vars[name] = value
	}
	return vars, nil
}

// readFile reads a file of a limited size. Only its owner may read one with secrets.
func readFile(name string, limit int64, secret bool) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was read only
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if mode := info.Mode().Perm(); secret && mode&0o077 != 0 && runtime.GOOS != "windows" {
		return nil, fmt.Errorf("%s has the mode %04o, with which other users have access to it: change it with chmod 600", name, mode)
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s has more than %d bytes", name, limit)
	}
	return data, err
}

// readTargets returns the targets of arguments and of a file.
func readTargets(args []string, file string) (targets []string, err error) {
	seen := map[string]bool{} // by host and port
	add := func(target string) error {
		host, port, err := collect.ParseTarget(target)
		key := fmt.Sprintf("%s %d", strings.ToLower(host), port)
		switch {
		case err != nil:
			return err
		case seen[key]:
			return fmt.Errorf("duplicate target %q", target)
		case len(targets) == maxTargets:
			return fmt.Errorf("more than %d targets: use several files", maxTargets)
		}
		seen[key], targets = true, append(targets, target)
		return nil
	}
	for _, arg := range args {
		if err := add(arg); err != nil {
			return nil, err
		}
	}
	if file != "" {
		data, err := readFile(file, maxTargetsFile, false)
		if err != nil {
			return nil, fmt.Errorf("-targets: %w", err)
		}
		for i, line := range strings.Split(string(data), "\n") {
			text, _, _ := strings.Cut(line, "#")
			if text = strings.TrimSpace(text); text == "" {
				continue
			}
			if err := add(text); err != nil {
				return nil, fmt.Errorf("-targets: %s, line %d: %w", file, i+1, err)
			}
		}
	}
	if len(targets) == 0 {
		return nil, errors.New("no devices: name them as arguments, or a file with a device on each line by -targets")
	}
	return targets, nil
}

// writer prints devices: rows of an import as JSON lines, or an object with all tables, a table on each line.
type writer struct {
	out    *bufio.Writer // Flush returns the errors of all methods
	tables bool
	begun  bool // a table was printed
}

// device prints a device.
func (w *writer) device(r *collect.Result) error {
	rows := r.Records()
	if w.tables {
		rows = nil
		for _, table := range r.Tables() {
			rows = append(rows, table)
		}
	}
	for _, row := range rows {
		doc, err := json.Marshal(row)
		if err != nil {
			return err
		}
		switch {
		case !w.tables:
			doc = append(doc, '\n')
		case w.begun:
			_, _ = w.out.WriteString(",\n")
		default:
			_, _ = w.out.WriteString(`{"tables":[` + "\n")
		}
		_, _ = w.out.Write(doc)
		w.begun = true
	}
	return w.out.Flush()
}

// end ends the document, also after an error.
func (w *writer) end() error {
	if w.tables && !w.begun {
		_, _ = w.out.WriteString(`{"tables":[`)
	}
	if w.tables {
		_, _ = w.out.WriteString("]}\n")
	}
	return w.out.Flush()
}
