package certs_test

import (
	"crypto/tls"
	"fmt"
	"log"

	"github.com/ashlar-go/ashlar/ratelimit/certs"
)

// What is wrong is said for each file at once.
func ExampleNewServer() {
	_, err := certs.NewServer(certs.Files{Cert: "tls.crt", ClientSAN: "client.example.com"}, nil)
	fmt.Println(err)
	// Output:
	// a name ("client.example.com") is required of client certificates, and no client CA that they must come from: give both or none
	// server certificate "tls.crt": no such file or directory: it must be a PEM file with the certificate, followed by its intermediates
	// private key: no file is named: it must be a PEM file with the certificate's private key, without a passphrase
}

// What to do when something has happened in one of the server's directories.
func ExampleServer_Reload() {
	server, err := certs.NewServer(certs.Files{Cert: "/etc/tls/tls.crt", Key: "/etc/tls/tls.key"}, nil)
	if err != nil {
		log.Fatal(err)
	}
	changed, err := server.Reload()
	switch {
	case err != nil:
		log.Printf("the certificate of before stays in use: %v", err)
	case changed:
		log.Print("the certificate is reloaded")
	}
}

// A client of a configuration server that has an authority of its own and is dialled
// by an address that its certificate does not have.
func ExampleClientConfig() {
	config, err := certs.ClientConfig(certs.ClientFiles{CACert: "/etc/tls/ca.crt", SAN: "config.example.com"}, nil)
	if err != nil {
		log.Fatal(err)
	}
	conn, err := tls.Dial("tcp", "10.0.0.7:18000", config)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
}
