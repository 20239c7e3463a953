package service

import (
	"errors"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// countersFile is the file that describes CountersService.
const countersFile = "ashlar/ratelimit/v1/counters.proto"

// Descriptors returns the descriptors of all linked messages and services and of CountersService,
// for gRPC reflection.
func Descriptors() (protodesc.Resolver, error) {
	const message = ".envoy.service.ratelimit.v3.RateLimit"
	service := &descriptorpb.ServiceDescriptorProto{Name: proto.String("Counters")}
	for _, name := range []string{"Get", "Reset", "GiveBack"} {
		service.Method = append(service.Method, &descriptorpb.MethodDescriptorProto{
			Name: proto.String(name), InputType: proto.String(message + "Request"), OutputType: proto.String(message + "Response"),
		})
	}
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String(countersFile), Package: proto.String("ashlar.ratelimit.v1"), Syntax: proto.String("proto3"),
		Dependency: []string{"envoy/service/ratelimit/v3/rls.proto"},
		Service:    []*descriptorpb.ServiceDescriptorProto{service},
	}, protoregistry.GlobalFiles)
	if err != nil {
		return nil, err
	}
	all := new(protoregistry.Files)
	protoregistry.GlobalFiles.RangeFiles(func(linked protoreflect.FileDescriptor) bool {
		err = all.RegisterFile(linked)
		return err == nil
	})
	return all, errors.Join(err, all.RegisterFile(file))
}
