package collect_test

import (
	"context"
	"fmt"
	"os"

	"github.com/ashlar-go/ashlar/cmd/inventory-collect/internal/collect"
)

func ExampleNew() {
	c, err := collect.New(collect.Credentials{Community: os.Getenv("SNMP_COMMUNITY")}, collect.Defaults())
	if err != nil {
		fmt.Println(err)
		return
	}
	targets := []string{"192.0.2.1", "core-2.example.com:1161"}
	err = c.All(context.Background(), targets, func(target string, r *collect.Result, err error) error {
		if err != nil {
			fmt.Println(target, err)
			return nil
		}
		fmt.Println(r.DeviceName(), r.Model, len(r.Interfaces), len(r.Neighbors))
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
}
