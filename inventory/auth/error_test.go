package auth_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/ashlar-go/ashlar/inventory/auth"
)

func TestKinds(t *testing.T) {
	t.Parallel()
	for _, k := range []auth.Kind{
		auth.TokenMissing, auth.TokenMalformed, auth.TokenForged, auth.TokenExpired,
		auth.TokenEarly, auth.TokenElsewhere, auth.TokenRevoked,
	} {
		assert.True(t, k.Unauthorized(), "%d", k)
	}
	for _, k := range []auth.Kind{0, auth.WeakPassword, auth.ResetInvalid, auth.Forbidden, auth.Busy, auth.BadHash, 255} {
		assert.False(t, k.Unauthorized(), "%d", k)
	}
}

func TestKindOf(t *testing.T) {
	t.Parallel()
	e := &auth.Error{Kind: auth.Busy, Message: "later"}
	assert.Equal(t, auth.Busy, auth.KindOf(fmt.Errorf("login: %w", e)))
	assert.Zero(t, auth.KindOf(errors.New("x")))
	assert.Zero(t, auth.KindOf(nil))
	assert.EqualError(t, e, "later")
	e.Reason = "full"
	assert.EqualError(t, e, "later: full")
}
