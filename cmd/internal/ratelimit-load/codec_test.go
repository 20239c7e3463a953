package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCodec(t *testing.T) {
	t.Parallel()
	request := []byte{1, 2, 3}
	data, err := codec{}.Marshal(request)
	require.NoError(t, err)
	assert.Equal(t, request, data.Materialize())

	_, err = codec{}.Marshal("text")
	assert.ErrorContains(t, err, "marshal string: want an encoded request")
}
