package quota_test

import (
	"fmt"

	"google.golang.org/grpc"

	"github.com/ashlar-go/ashlar/ratelimit"
	"github.com/ashlar-go/ashlar/ratelimit/quota"
	"github.com/ashlar-go/ashlar/ratelimit/store/memstore"
)

func ExampleNew() {
	rules, err := ratelimit.Compile([]ratelimit.Domain{{Name: "edge", Rules: []ratelimit.Rule{
		{Key: "client", Limit: &ratelimit.Limit{RequestsPerUnit: 6000, Unit: ratelimit.Minute}},
	}}}, nil)
	if err != nil {
		panic(err)
	}
	engine, err := ratelimit.New(memstore.MustNew(nil), nil)
	if err != nil {
		panic(err)
	}
	if err := engine.Use(rules); err != nil {
		panic(err)
	}
	quotas, err := quota.New(engine, nil)
	if err != nil {
		panic(err)
	}
	defer func() { _ = quotas.Close() }()
	server := grpc.NewServer()
	quotas.Register(server)
	// server.Serve(listener), and quotas.Close before server.GracefulStop
	fmt.Println(quotas.Assignments("edge", []ratelimit.Entry{{Key: "client"}}, 100))
	// Output: [] 0
}
