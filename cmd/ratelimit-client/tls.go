package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"os"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// tlsOptions say how to secure the connection.
type tlsOptions struct {
	use      bool
	caFile   string
	certFile string
	keyFile  string
}

func (o *tlsOptions) flags(f *flag.FlagSet) {
	f.BoolVar(&o.use, "grpc-use-tls", false, "connect with TLS")
	f.StringVar(&o.caFile, "grpc-server-ca-file", "", "`file` with the CA of the server; the system's CAs if empty")
	f.StringVar(&o.certFile, "grpc-cert-file", "", "`file` with the client certificate, for mutual TLS")
	f.StringVar(&o.keyFile, "grpc-key-file", "", "`file` with the key of the client certificate")
}

// check finds flags that don't go together.
func (o *tlsOptions) check() error {
	switch {
	case !o.use && (o.caFile != "" || o.certFile != "" || o.keyFile != ""):
		return errors.New("certificate files are given without -grpc-use-tls")
	case (o.certFile == "") != (o.keyFile == ""):
		return errors.New("-grpc-cert-file and -grpc-key-file go together")
	}
	return nil
}

func (o *tlsOptions) credentials() (credentials.TransportCredentials, error) {
	if !o.use {
		return insecure.NewCredentials(), nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.caFile != "" {
		pem, err := os.ReadFile(o.caFile)
		if err != nil {
			return nil, fmt.Errorf("-grpc-server-ca-file: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("-grpc-server-ca-file: %s holds no PEM certificate", o.caFile)
		}
	}
	if o.certFile != "" {
		pair, err := tls.LoadX509KeyPair(o.certFile, o.keyFile)
		if err != nil {
			return nil, fmt.Errorf("-grpc-cert-file, -grpc-key-file: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return credentials.NewTLS(c), nil
}
