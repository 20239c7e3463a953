package main

import (
	"errors"
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
