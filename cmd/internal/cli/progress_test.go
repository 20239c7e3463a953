package cli_test

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/ashlar-go/ashlar/cmd/internal/cli"
)

// Into a file or a pipe, whole lines are written every five seconds, and none for a short task.
func TestProgressOfLines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		p := cli.NewProgress(cli.Env{Stderr: &b}, "demo")
		for done := range int64(131) { // 13 seconds
			p.Show(func(elapsed time.Duration) string { return cli.Done(done*100, 13_000, "records", elapsed) })
			time.Sleep(100 * time.Millisecond)
		}
		p.End()
		assert.Equal(t, "demo: 2000 of 13000 records, 1000 a second, 11s left\n"+
			"demo: 7000 of 13000 records, 1000 a second, 6s left\n"+
			"demo: 12000 of 13000 records, 1000 a second, 1s left\n", b.String())
	})
}

func TestDone(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "50 rows, 5 a second", cli.Done(50, 0, "rows", 10*time.Second))
	assert.Equal(t, "0 rows, 0 a second", cli.Done(0, 10, "rows", 0))
	assert.Equal(t, "12.0 of 48.0 MB, 6.0 MB a second, 6s left", cli.DoneBytes(12e6, 48e6, 2*time.Second))
	assert.Equal(t, "12.0 MB, 6.0 MB a second", cli.DoneBytes(12e6, -1, 2*time.Second))
}
