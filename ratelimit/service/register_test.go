package service_test

import (
	"testing"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/ashlar-go/ashlar/ratelimit/service"
)

// A method that a future version of the protocol adds is registered with its generated
// handler.
func TestRegisterDeclaresFutureMethods(t *testing.T) {
	generated := &ratelimitv3.RateLimitService_ServiceDesc
	original := generated.Methods
	t.Cleanup(func() { generated.Methods = original })
	future := grpc.MethodDesc{MethodName: "FutureMethod"}
	generated.Methods = append([]grpc.MethodDesc{future}, original...)

	var g descRecorder
	service.New(nil, nil).Register(&g)
	require.Equal(t, generated.ServiceName, g.desc.ServiceName)
	require.Len(t, g.desc.Methods, 2)
	require.Equal(t, "FutureMethod", g.desc.Methods[0].MethodName)
	require.Equal(t, "ShouldRateLimit", g.desc.Methods[1].MethodName)
	require.NotNil(t, g.desc.Methods[1].Handler)
}

type descRecorder struct{ desc *grpc.ServiceDesc }

func (r *descRecorder) RegisterService(desc *grpc.ServiceDesc, _ any) { r.desc = desc }
