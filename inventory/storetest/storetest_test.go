package storetest_test

import (
	"testing"

	"github.com/ashlar-go/ashlar/inventory/records"
	"github.com/ashlar-go/ashlar/inventory/storetest"
)

func TestMemStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(testing.TB) records.Store { return records.NewMemStore(storetest.Schema()) })
}
