package memcachestore_test

import (
	"context"
	"fmt"

	"github.com/ashlar-go/ashlar/ratelimit/store/memcachestore"
)

func ExampleNew() {
	store, err := memcachestore.New([]string{"10.0.0.2:11211", "10.0.0.1:11211"}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = store.Close(context.Background()) }()
	fmt.Println(store.Nodes())

	_, err = memcachestore.New([]string{"10.0.0.1"}, nil)
	fmt.Println(err)
	// Output:
	// [10.0.0.2:11211 10.0.0.1:11211]
	// memcachestore: node 0, "10.0.0.1": must be host:port, with a port from 1 to 65535
}
