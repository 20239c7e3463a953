package service_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/ashlar-go/ashlar/ratelimit/service"
)

// The description has the methods and messages of the service that is registered, and leaves the
// others to the linked ones.
func TestDescriptors(t *testing.T) {
	all, err := service.Descriptors()
	require.NoError(t, err)
	d, err := all.FindDescriptorByName(service.CountersService)
	require.NoError(t, err)
	methods := d.(protoreflect.ServiceDescriptor).Methods()
	counters, err := service.New(nil, nil).Counters(&service.CountersOptions{Token: adminToken})
	require.NoError(t, err)
	var g descRecorder
	counters.Register(&g)
	require.Len(t, g.desc.Methods, methods.Len())
	for _, m := range g.desc.Methods {
		described := methods.ByName(protoreflect.Name(m.MethodName))
		require.NotNil(t, described, m.MethodName)
		require.EqualValues(t, "envoy.service.ratelimit.v3.RateLimitRequest", described.Input().FullName())
		require.EqualValues(t, "envoy.service.ratelimit.v3.RateLimitResponse", described.Output().FullName())
	}
	file, err := all.FindFileByPath(g.desc.Metadata.(string))
	require.NoError(t, err)
	require.Equal(t, d.ParentFile(), file)
	_, err = all.FindDescriptorByName("envoy.service.ratelimit.v3.RateLimitService")
	require.NoError(t, err)
	_, err = all.FindFileByPath("envoy/service/ratelimit/v3/rls.proto")
	require.NoError(t, err)
	_, err = all.FindDescriptorByName("ashlar.ratelimit.v1.Unknown")
	require.Error(t, err)
}
