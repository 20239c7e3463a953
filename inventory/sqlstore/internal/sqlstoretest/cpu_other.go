//go:build !unix

package sqlstoretest

import (
	"testing"
	"time"
)

// computed is nothing where the system does not tell.
func computed(*testing.B) time.Duration { return 0 }
