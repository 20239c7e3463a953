package settings

import "strings"

// chooseBackend says where counters live when BACKEND_TYPE doesn't.
func (r *reading) chooseBackend() {
	s := r.settings
	switch {
	case s.Backend != "":
		s.BackendReason = r.spelling("BACKEND_TYPE", "BACKEND_TYPE") + " says so"
	case r.isSet("KVSTORE_URL"):
		s.Backend = KVStore
		s.BackendReason = "BACKEND_TYPE is not set, and " + r.spelled["KVSTORE_URL"] + " is"
	default:
		s.Backend = Embedded
		s.BackendReason = "BACKEND_TYPE is not set, and neither is KVSTORE_URL"
	}
}

func (r *reading) chooseSockets() {
	for _, k := range []*KV{&r.settings.KVStore, &r.settings.KVStorePerSecond} {
		if k.SocketType == "" || k.Type != Single {
			k.SocketType = SocketTCP
			if k.Type == Single && strings.HasPrefix(k.URL, "/") {
				k.SocketType = SocketUnix
			}
		}
	}
}
