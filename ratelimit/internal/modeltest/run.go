package modeltest

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/ashlar-go/ashlar/ratelimit"
)

// Run plays random scripts on an engine with stores of newStore and on the model,
// and fails t at the first difference, with the shortest script that shows it.
// Each script is played on new stores.
//
// A store may have a method Counters() map[string]uint64 that returns all its
// counters; then these must equal those of the model.
//
// Counter keys do not name the unit, so windows of two units that begin in the
// same second may share a key. Whether they then share a counter is up to the
// store: requests that depend on it are skipped.
func Run(t *testing.T, newStore func() ratelimit.Store) {
	t.Helper()
	rapid.Check(t, func(rt *rapid.T) {
		s := scripts.Draw(rt, "script")
		if err := play(s, &stage{newStore: newStore, oneUnitPerKey: true}); err != nil {
			rt.Fatalf("%v\nin the script\n%v", err, s)
		}
	})
}
