package scaletest_test

import (
	"slices"
	"testing"
	"time"

	"github.com/ashlar-go/ashlar/internal/scaletest"
)

func TestSeeds(t *testing.T) {
	t.Setenv("ASHLAR_SOAK", "")
	t.Setenv("ASHLAR_SEED", "")
	want := []uint64{1, 2, 3}
	switch {
	case scaletest.Race():
		want = want[:1]
	case testing.Short():
		want = want[:2]
	}
	if got := slices.Collect(scaletest.Seeds(t, 2, 3)); !slices.Equal(got, want) {
		t.Errorf("got seeds %v, want %v", got, want)
	}
	t.Setenv("ASHLAR_SOAK", "100ms")
	if got := len(slices.Collect(scaletest.Seeds(t, 2, 3))); got < 100 {
		t.Errorf("got %d seeds in 10 ms", got)
	}
	t.Setenv("ASHLAR_SEED", "7")
	if got := slices.Collect(scaletest.Seeds(t, 2, 3)); !slices.Equal(got, []uint64{7}) {
		t.Errorf("got seeds %v, want 7 only", got)
	}
	if got := scaletest.Soak(t); got != 100*time.Millisecond {
		t.Errorf("got %v", got)
	}
}
