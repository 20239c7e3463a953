package tlsfiles_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"time"

	"github.com/ashlar-go/ashlar/internal/tlsfiles"
)

// All errors are reported at once.
func ExampleNewServer() {
	_, err := tlsfiles.NewServer(tlsfiles.Files{Cert: "tls.crt", ClientSAN: "client.example.com"}, nil)
	fmt.Println(err)
	// Output:
	// client certificates must be for "client.example.com", but no client CA is configured: configure both or none
	// server certificate "tls.crt": no such file or directory
	// private key: no file is configured
}

func ExampleServer_Reload() {
	dir, err := os.MkdirTemp("", "tls")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	files := tlsfiles.Files{Cert: filepath.Join(dir, "tls.crt"), Key: filepath.Join(dir, "tls.key")}
	issueTo(files)
	server, err := tlsfiles.NewServer(files, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	reload := func() {
		changed, err := server.Reload()
		fmt.Println("changed:", changed, "missing:", errors.Is(err, fs.ErrNotExist))
	}
	reload()
	issueTo(files)
	reload()
	_ = os.Remove(files.Key)
	reload() // the previous certificate stays in use
	// Output:
	// changed: false missing: false
	// changed: true missing: false
	// changed: false missing: true
}

// issueTo writes a new certificate and its key.
func issueTo(files tlsfiles.Files) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"limits.example.com"}, NotAfter: time.Now().Add(time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		panic(err)
	}
	for path, block := range map[string]*pem.Block{
		files.Cert: {Type: "CERTIFICATE", Bytes: cert},
		files.Key:  {Type: "PRIVATE KEY", Bytes: der},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			panic(err)
		}
	}
}

// The server is dialed by an address that its certificate does not have. The client
// trusts the authorities of the system, because CACert is empty.
func ExampleClientConfig() {
	config, err := tlsfiles.ClientConfig(tlsfiles.ClientFiles{SAN: "config.example.com"}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	// conn, err := tls.Dial("tcp", "10.0.0.7:18000", config)
	fmt.Println("the certificate must be for", config.ServerName, "in", tls.VersionName(config.MinVersion), "or newer")
	// Output:
	// the certificate must be for config.example.com in TLS 1.2 or newer
}
