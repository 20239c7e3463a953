package main

import (
	"errors"
	"flag"
	"fmt"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/ashlar-go/ashlar/internal/tlsfiles"
)

// tlsOptions contains the flags for TLS.
type tlsOptions struct {
	use      bool
	caFile   string
	certFile string
	keyFile  string
}

func (o *tlsOptions) flags(f *flag.FlagSet) {
	f.BoolVar(&o.use, "grpc-use-tls", false, "connect with TLS")
	f.StringVar(&o.caFile, "grpc-server-ca-file", "", "`file` with CA certificates for the server, besides those of the system")
	f.StringVar(&o.certFile, "grpc-cert-file", "", "`file` with the client certificate, for mutual TLS")
	f.StringVar(&o.keyFile, "grpc-key-file", "", "`file` with the key of the client certificate")
}

// validate reports flags that conflict.
func (o *tlsOptions) validate() error {
	switch {
	case !o.use && (o.caFile != "" || o.certFile != "" || o.keyFile != ""):
		return errors.New("certificate files need -grpc-use-tls")
	case (o.certFile == "") != (o.keyFile == ""):
		return errors.New("-grpc-cert-file and -grpc-key-file must be set together")
	}
	return nil
}

func (o *tlsOptions) credentials() (credentials.TransportCredentials, error) {
	if !o.use {
		return insecure.NewCredentials(), nil
	}
	config, err := tlsfiles.ClientConfig(tlsfiles.ClientFiles{CACert: o.caFile, Cert: o.certFile, Key: o.keyFile}, nil)
	if err != nil {
		return nil, fmt.Errorf("-grpc-server-ca-file, -grpc-cert-file, -grpc-key-file: %w", err)
	}
	return credentials.NewTLS(config), nil
}
