package tracing_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/ashlar-go/ashlar/internal/logtest"
	"github.com/ashlar-go/ashlar/internal/tracing"
)

func TestMalformedEnvironment(t *testing.T) {
	const secret = "hunter2"
	for _, c := range []struct {
		variable, value string
		want            string
	}{
		{"OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4318", "http://collector:4318"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT", "127.0.0.1:4318", "http://collector:4318"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://", "http://collector:4318"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT", "http:///v1", "http://collector:4318"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT", "ftp://host", "http://collector:4318"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://host:hunter2", "http://collector:4318"},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://me:hunter2@host", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"},
		{"OTEL_EXPORTER_OTLP_HEADERS", "hunter2", `entry 1: no "="`},
		{"OTEL_EXPORTER_OTLP_HEADERS", "a=b,", `entry 2: no "="`},
		{"OTEL_EXPORTER_OTLP_HEADERS", "a=b,c d=hunter2", "entry 2: the name"},
		{"OTEL_EXPORTER_OTLP_HEADERS", "=hunter2", "entry 1: the name"},
		{"OTEL_EXPORTER_OTLP_TRACES_HEADERS", "a=hunter2%zz", "entry 1: the value"},
		{"OTEL_EXPORTER_OTLP_TRACES_HEADERS", "a=hunter2%0Aevil", "entry 1: the value"},
		{"OTEL_BSP_SCHEDULE_DELAY", "0", "from 1"},
		{"OTEL_BSP_SCHEDULE_DELAY", "5s", "from 1"},
		{"OTEL_BSP_EXPORT_TIMEOUT", "-1", "from 1"},
		{"OTEL_BSP_MAX_QUEUE_SIZE", "-1", "from 1"},
		{"OTEL_BSP_MAX_QUEUE_SIZE", "1000000000000", "to 3600000"},
		{"OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "-5", "from 1"},
		{"OTEL_RESOURCE_ATTRIBUTES", "hunter2", "use name=value"},
		{"OTEL_RESOURCE_ATTRIBUTES", "a=%ff", "attribute a: must be valid UTF-8"},
	} {
		t.Run(c.variable+"="+filepath.Base(c.value), func(t *testing.T) {
			t.Setenv(c.variable, c.value)
			tr, err := tracing.New(context.Background(), 1, nil)
			if c.value != "a=%ff" {
				require.ErrorContains(t, err, c.variable)
			}
			require.ErrorContains(t, err, c.want)
			assert.NotContains(t, err.Error(), secret)
			assert.Nil(t, tr)
		})
	}
}

// What the libraries report themselves, and then replace by a default, does not fail New.
func TestLibrariesHandleOtherVariables(t *testing.T) {
	for variable, value := range map[string]string{
		"OTEL_EXPORTER_OTLP_TIMEOUT": "10s", "OTEL_EXPORTER_OTLP_COMPRESSION": "zstd",
		"OTEL_EXPORTER_OTLP_CERTIFICATE": "/nowhere/ca.pem", "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "many", "OTEL_RESOURCE_ATTRIBUTES": "a=%zz",
	} {
		t.Run(variable, func(t *testing.T) {
			for _, protocol := range protocols {
				r := receive(t, protocol)
				t.Setenv(variable, value)
				tr := start(t, 1, &tracing.Options{Protocol: protocol})
				_, end := tr.StartSpan(context.Background(), "s", nil)
				end(nil)
				flush(t, tr)
				r.named(t, "s")
			}
		})
	}
}

func TestMalformedEnvironmentIsReportedWhole(t *testing.T) {
	variables := []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_BSP_MAX_QUEUE_SIZE", "OTEL_BSP_SCHEDULE_DELAY"}
	for _, variable := range variables {
		t.Setenv(variable, "x")
	}
	_, err := tracing.New(context.Background(), 2, nil)
	for _, want := range append(variables, "sampling rate") {
		require.ErrorContains(t, err, want)
	}
}

func TestEndpointsOverGRPC(t *testing.T) {
	for _, endpoint := range []string{"collector:4317", "https://collector:4317", "dns:///collector:4317", "unix:///run/otlp.sock"} {
		t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
		flush(t, start(t, 1, &tracing.Options{Protocol: "grpc"}))
	}
}

func TestHeadersReachTheReceiver(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			r := receive(t, protocol)
			t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=all")
			t.Setenv("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "x-tenant=edge, authorization=Bearer%20t%3D1")
			t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
			tr := start(t, 1, &tracing.Options{Protocol: protocol})
			_, end := tr.StartSpan(context.Background(), "s", nil)
			end(nil)
			flush(t, tr)
			require.Len(t, r.headers, 1)
			assert.Equal(t, []string{"edge"}, r.headers[0]["x-tenant"])
			assert.Equal(t, []string{"Bearer t=1"}, r.headers[0]["authorization"])
		})
	}
}

func TestBodiesAsJSON(t *testing.T) {
	r := receive(t, "http")
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")
	tr := start(t, 1, nil)
	_, end := tr.StartSpan(context.Background(), "s", nil)
	end(nil)
	flush(t, tr)
	assert.Equal(t, []string{"application/json"}, r.types)
}

// An export to a receiver that does not respond fails after the timeout.
func TestTimeoutOfAnExport(t *testing.T) {
	h := stall(t, "http")
	t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "3600000")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "200") // wins
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "1")
	var log logtest.Log
	tr := start(t, 1, &tracing.Options{Log: log.Logger()})
	_, end := tr.StartSpan(context.Background(), "s", nil)
	end(nil)
	<-h.received // by the first attempt or a retry
	<-h.canceled
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // ends the retries
	require.ErrorContains(t, tr.Shutdown(ctx), "1 spans were not delivered")
	assert.Contains(t, log.String(), "Timeout exceeded")
}

// writeCertificate writes a certificate and its key, and returns the names of the files.
func writeCertificate(t *testing.T, c tls.Certificate) (cert, key string) {
	t.Helper()
	write := func(name, kind string, der []byte) string {
		name = filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
		return name
	}
	der, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	require.NoError(t, err)
	return write("cert.pem", "CERTIFICATE", c.Certificate[0]), write("key.pem", "PRIVATE KEY", der)
}

// Both sides present the certificate that the standard library has for tests.
func TestMutualTLS(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			r := &receiver{}
			s := httptest.NewUnstartedServer(r)
			s.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
			s.StartTLS()
			t.Cleanup(s.Close)
			cert, key := writeCertificate(t, s.TLS.Certificates[0])
			endpoint := s.URL
			if protocol == "grpc" {
				g := grpc.NewServer(grpc.Creds(credentials.NewTLS(s.TLS.Clone())))
				collector.RegisterTraceServiceServer(g, r)
				endpoint = "https://" + serveGRPC(t, g)
			}
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
			t.Setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", cert)
			t.Setenv("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", cert)
			t.Setenv("OTEL_EXPORTER_OTLP_CLIENT_KEY", key)
			tr := start(t, 1, &tracing.Options{Protocol: protocol})
			_, end := tr.StartSpan(context.Background(), "s", nil)
			end(nil)
			flush(t, tr)
			r.named(t, "s")
		})
	}
}

func TestCertificateForPlainHTTPIsRefused(t *testing.T) {
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	cert, _ := writeCertificate(t, s.TLS.Certificates[0])
	t.Setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", cert)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", strings.Replace(s.URL, "https", "http", 1))
	_, err := tracing.New(context.Background(), 1, nil)
	require.ErrorContains(t, err, "tracing: insecure")
}

func FuzzEnvironment(f *testing.F) {
	for _, seed := range []string{"a=b", "a=%20,b=", "=", "http://h:1/p", "unix:x", "host:1", "\xff=%ff", "%", "true", "12"} {
		f.Add(seed, seed)
	}
	variables := []string{
		"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TIMEOUT",
		"OTEL_EXPORTER_OTLP_INSECURE", "OTEL_RESOURCE_ATTRIBUTES", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE",
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		if strings.ContainsRune(first+second, 0) {
			t.Skip("not possible in an environment")
		}
		for _, protocol := range protocols {
			for i, variable := range variables {
				t.Setenv(variable, first)
				t.Setenv(variables[(i+1)%len(variables)], second)
				tr, err := tracing.New(context.Background(), 1, &tracing.Options{Protocol: protocol})
				if err != nil {
					assert.Nil(t, tr)
					assert.ErrorContains(t, err, "tracing: ")
					continue
				}
				flush(t, tr)
			}
		}
	})
}
