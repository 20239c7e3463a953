package deploytest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/ratelimit/settings"
)

// validateKubernetes validates the documents of a file whose kinds are those of Kubernetes itself, and returns all
// objects by kind/name.
func validateKubernetes(t *testing.T, path string) map[string]any {
	t.Helper()
	objects, known := map[string]any{}, []string{}
	for _, text := range strings.Split(read(t, path), "\n---\n") {
		o := documents(t, text)[0]
		objects[fmt.Sprint(at(o, "kind"), "/", at(o, "metadata name"))] = o
		if !strings.Contains(fmt.Sprint(at(o, "apiVersion")), ".io/") {
			known = append(known, text)
		}
	}
	file := filepath.Join(t.TempDir(), "objects.yaml")
	require.NoError(t, os.WriteFile(file, []byte(strings.Join(known, "\n---\n")), 0o600))
	tool(t, checkout, "$ASHLAR_KUBERNETES_VALIDATE", "--strict", "--quiet", file)
	return objects
}

// variables returns a list of environment variables of a container.
func variables(list any) map[string]string {
	environ := map[string]string{}
	all, _ := list.([]any)
	for _, v := range all {
		environ[fmt.Sprint(at(v, "name"))] = fmt.Sprint(at(v, "value"))
	}
	return environ
}

// TestIstio validates the example of Istio: its objects, their names for each other, the settings and the limits. The
// end-to-end tests send requests through its filter.
func TestIstio(t *testing.T) {
	t.Parallel()
	objects := validateKubernetes(t, "deploy/istio.yaml")
	service, d, filter := objects["Service/ratelimitd"], objects["Deployment/ratelimitd"], objects["EnvoyFilter/ratelimitd"]
	require.Equal(t, at(d, "spec selector matchLabels"), at(service, "spec selector"))
	require.Nil(t, at(service, "spec clusterIP"), "sidecars spread calls over the instances of a Service with an address only")
	host := fmt.Sprintf("%v.%v.svc.cluster.local", at(service, "metadata name"), at(service, "metadata namespace"))
	const grpc, container = "spec configPatches 0 patch value typed_config rate_limit_service grpc_service envoy_grpc ", "spec template spec containers 0 "
	requireAt(t, filter, map[string]string{
		grpc + "cluster_name": fmt.Sprintf("outbound|%v||%s", at(service, "spec ports 0 port"), host), grpc + "authority": host,
	})
	requireAt(t, service, map[string]string{"spec ports 0 name": "grpc", "spec ports 0 port": ratelimitd().ports[2]})
	requireAt(t, d, map[string]string{container + "securityContext readOnlyRootFilesystem": "true", container + "securityContext capabilities drop": "[ALL]"})
	environ := variables(at(d, container+"env"))
	require.NoError(t, ratelimitd().parse(environ))
	of, err := settings.Parse(environ)
	require.NoError(t, err)
	grace := time.Duration(at(d, "spec template spec terminationGracePeriodSeconds").(int)) * time.Second
	require.Greater(t, grace, of.ShutdownDrainDelay+of.ShutdownTimeout)
	require.Equal(t, "/etc/ratelimitd/config", at(d, container+"volumeMounts 0 mountPath"))
	limits := texts(objects["ConfigMap/ratelimitd-limits"], "data")
	requireLimits(t, limits)
	require.Equal(t, at(documents(t, limits["ingress.yaml"])[0], "domain"), at(filter, "spec configPatches 0 patch value typed_config domain"))
}

// TestEnvoyGateway validates the example of Envoy Gateway, and the settings that it adds to those of Envoy Gateway.
func TestEnvoyGateway(t *testing.T) {
	t.Parallel()
	objects := validateKubernetes(t, "deploy/envoy-gateway.yaml")
	require.Contains(t, objects, "BackendTrafficPolicy/shop")
	gateway := documents(t, texts(objects["ConfigMap/envoy-gateway-config"], "data")["envoy-gateway.yaml"])[0]
	requireAt(t, gateway, map[string]string{"kind": "EnvoyGateway", "rateLimit backend type": "Redis"})
	const container = "provider kubernetes rateLimitDeployment container "
	require.Regexp(t, `/ratelimitd:\d`, at(gateway, container+"image"))
	environ := variables(at(gateway, container+"env"))
	require.NotEmpty(t, environ)
	require.NoError(t, ratelimitd().parse(environ))
}

// TestEnvoyPage checks the settings on the page about proxies. The end-to-end tests run its commands.
func TestEnvoyPage(t *testing.T) {
	t.Parallel()
	checkVariables(t, readPage(t, "docs/envoy.md"), ratelimitd())
}
