package redisstore_test

import (
	"fmt"

	"github.com/ashlar-go/ashlar/ratelimit/store/redisstore"
)

func ExampleNew() {
	_, err := redisstore.New("localhost", &redisstore.Options{PoolSize: -1})
	fmt.Println(err)

	store, err := redisstore.New("localhost:6379", &redisstore.Options{OnEmpty: redisstore.Fail})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("connections:", store.Stats().Active) // WaitReady connects
	fmt.Println(store.Close())
	// Output:
	// redisstore: address "localhost": must be host:port
	// connections: 0
	// <nil>
}
