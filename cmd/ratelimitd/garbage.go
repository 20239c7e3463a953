package main

import "runtime"

// garbageRoom is how many bytes of garbage may lie about beyond what the collector's own
// rule allows. Counters in Redis leave so little in memory that without it the collector
// runs many times a second, and each time takes processors from the calls under way: it
// was most of what their p99 had above that of a server that counts nothing.
const garbageRoom = 64 << 20

// roomForGarbage has the collector run less often until release is called. What it holds
// is never touched, so that it takes addresses and no memory; the garbage does. Where
// the collector has been told how to work, it is left alone.
func roomForGarbage(environ map[string]string) (release func()) {
	if environ["GOGC"] != "" || environ["GOMEMLIMIT"] != "" {
		return func() {}
	}
	room := make([]byte, garbageRoom)
	return func() { runtime.KeepAlive(room) }
}
