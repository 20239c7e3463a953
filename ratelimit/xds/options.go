package xds

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc"
)

// Options are the choices of a [Client]. A nil *Options is the zero one.
type Options struct {
	// NodeID is how the client calls itself; empty means "default"
	// (CONFIG_GRPC_XDS_NODE_ID). Servers choose the configuration by it.
	NodeID string
	// NodeMetadata is sent along with the id (CONFIG_GRPC_XDS_NODE_METADATA).
	NodeMetadata map[string]string
	// Headers are sent when a stream is opened
	// (CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS). A name may occur several times.
	// Values get into no log and no error.
	Headers []Header

	// TLS encrypts the connection; nil means plain text. With Certificates or
	// GetClientCertificate it is mutual. ServerName is the name to look for in the
	// server's certificate if it is not the host of the target
	// (CONFIG_GRPC_XDS_SERVER_TLS_SAN). It must not be changed afterwards.
	TLS *tls.Config
	// MaxMessageBytes is how long a response may be; 0 means 4 MiB
	// (XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES).
	MaxMessageBytes int

	// ConnectTimeout bounds one attempt to connect, with its look-up of the name and
	// its TLS handshake; 0 means 20 s.
	ConnectTimeout time.Duration
	// RetryInterval stands in for Backoff.Initial until the server has been reached
	// for the first time; 0 means 3 s
	// (CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL).
	RetryInterval time.Duration
	// Backoff is how long to wait before the next attempt. It begins anew after a
	// stream that had a response and lasted for Backoff.Initial, or lasted for
	// Backoff.Max.
	Backoff Backoff
	// KeepaliveTime is how long the server may be silent before it is asked for a sign
	// of life; 0 means 5 minutes, and less than 10 s counts as 10 s. Many servers close
	// connections on which they are asked more often than every 5 minutes.
	KeepaliveTime time.Duration
	// KeepaliveTimeout is how long the sign of life may take before the connection is
	// given up; 0 means 20 s.
	KeepaliveTimeout time.Duration

	// MergeDomains lets several resources describe one domain (MERGE_DOMAIN_CONFIG).
	// Their rules then follow each other in the order of the resources' names. By
	// default the second resource is a fault.
	MergeDomains bool

	// Log is told of connections and of what is ignored; nil means nobody is. What is
	// reported to Run's failed is not repeated here.
	Log *slog.Logger
	// DialOptions come after those that follow from the fields above: an interceptor,
	// a dialer.
	DialOptions []grpc.DialOption
}

func (o *Options) withDefaults() Options {
	var r Options
	if o != nil {
		r = *o
	}
	r.NodeID = cmp.Or(r.NodeID, "default")
	r.MaxMessageBytes = cmp.Or(r.MaxMessageBytes, 4<<20)
	r.ConnectTimeout = cmp.Or(r.ConnectTimeout, 20*time.Second)
	r.RetryInterval = cmp.Or(r.RetryInterval, 3*time.Second)
	r.Backoff = r.Backoff.withDefaults()
	r.KeepaliveTime = cmp.Or(r.KeepaliveTime, 5*time.Minute)
	r.KeepaliveTimeout = cmp.Or(r.KeepaliveTimeout, 20*time.Second)
	if r.Log == nil {
		r.Log = slog.New(slog.DiscardHandler)
	}
	return r
}

// check reports everything that is wrong at once.
func (o *Options) check() error {
	errs := []error{
		notNegative("Options.ConnectTimeout", o.ConnectTimeout),
		notNegative("Options.RetryInterval", o.RetryInterval),
		notNegative("Options.KeepaliveTime", o.KeepaliveTime),
		notNegative("Options.KeepaliveTimeout", o.KeepaliveTimeout),
		o.Backoff.check(),
	}
	if o.MaxMessageBytes < 0 {
		errs = append(errs, fmt.Errorf("Options.MaxMessageBytes %d: must be above 0, or 0 for 4 MiB", o.MaxMessageBytes))
	}
	if !utf8.ValidString(o.NodeID) {
		errs = append(errs, fmt.Errorf("Options.NodeID %q: must be UTF-8", o.NodeID))
	}
	for name, value := range o.NodeMetadata {
		if !utf8.ValidString(name) || !utf8.ValidString(value) {
			errs = append(errs, fmt.Errorf("Options.NodeMetadata %q: name and value must be UTF-8", name))
		}
	}
	for i := range o.Headers {
		errs = append(errs, o.Headers[i].check(i))
	}
	return errors.Join(errs...)
}

func notNegative(name string, d time.Duration) error {
	if d < 0 {
		return fmt.Errorf("%s %v: must be above 0, or 0 for the default", name, d)
	}
	return nil
}
