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

// What is wrong is said for each file at once.
func ExampleNewServer() {
	_, err := tlsfiles.NewServer(tlsfiles.Files{Cert: "tls.crt", ClientSAN: "client.example.com"}, nil)
	fmt.Println(err)
	// Output:
	// a name ("client.example.com") is required of client certificates, and no client CA that they must come from: give both or none
	// server certificate "tls.crt": no such file or directory: it must be a PEM file with the certificate, followed by its intermediates
	// private key: no file is named: it must be a PEM file with the certificate's private key, without a passphrase
}

// What to do when something has happened in one of the server's directories.
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
		switch {
		case err != nil:
			fmt.Println("the certificate of before stays in use:", errors.Is(err, fs.ErrNotExist))
		case changed:
			fmt.Println("the certificate is reloaded")
		default:
			fmt.Println("nothing is new")
		}
	}
	reload()
	issueTo(files)
	reload()
	_ = os.Remove(files.Key)
	reload()
	// Output:
	// nothing is new
	// the certificate is reloaded
	// the certificate of before stays in use: true
}

// issueTo stands for whoever renews the certificate, and its key with it.
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

// A client of a configuration server that is dialled by an address which the server's
// certificate does not have. It trusts the system's authorities; with CACert it would
// trust those of that file instead.
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
