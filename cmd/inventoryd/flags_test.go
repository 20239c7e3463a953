package main

import (
	"testing"

	"github.com/ashlar-go/ashlar/cmd/internal/clitest"
)

func TestFlags(t *testing.T) {
	t.Parallel()
	clitest.Flags(t, "inventoryd", run)
}
