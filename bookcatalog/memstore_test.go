package bookcatalog_test

import (
	"testing"

	"github.com/ashlar-go/ashlar/bookcatalog"
	"github.com/ashlar-go/ashlar/bookcatalog/storetest"
)

func TestMemStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) bookcatalog.Store { return bookcatalog.NewMemStore() })
}
