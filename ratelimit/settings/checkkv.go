package settings

import "errors"

func (r *reading) checkKVStores() {
	s := r.settings
	if s.Backend == KVStore {
		r.checkKV(&s.KVStore, "KVSTORE_")
	}
	r.refuse(s.UsePerSecond && s.KVStorePerSecond.URL == "", "KVSTORE_PERSECOND",
		"needs the address of the second store: set $KVSTORE_PERSECOND_URL, or set this to false")
	if s.UsePerSecond && s.KVStorePerSecond.URL != "" {
		r.checkKV(&s.KVStorePerSecond, "KVSTORE_PERSECOND_")
	}
	r.checkPair(s.KVStoreClientCert, "KVSTORE_TLS_CLIENT_CERT", s.KVStoreClientKey, "KVSTORE_TLS_CLIENT_KEY")
	r.checkGrowth(s.KVStoreStartupMax < s.KVStoreStartupInitial, "KVSTORE_STARTUP_MAX_INTERVAL", "KVSTORE_STARTUP_INITIAL_INTERVAL")
	r.checkGrowth(s.BreakerMaxWait < s.BreakerWait, "STORE_BREAKER_MAX_WAIT", "STORE_BREAKER_WAIT")
}

// checkKV looks at the address of a store that is in use.
func (r *reading) checkKV(k *KV, prefix string) {
	if r.anyBad(prefix+"URL", prefix+"TYPE", prefix+"SOCKET_TYPE") {
		return
	}
	var shown string
	var err error
	switch {
	case k.Type != Single:
		shown, err = k.checkNodes()
	case k.SocketType == SocketUnix:
		shown, err = quote(k.URL), k.checkPath()
	default:
		shown, err = quote(k.URL), checkHostPort(k.URL)
	}
	if err != nil {
		r.refuseURL(prefix, shown+" "+err.Error())
	}
}

// refuseURL complains about a URL, or about what its default does not fit.
func (r *reading) refuseURL(prefix, what string) {
	about := r.firstSet(prefix+"URL", prefix+"TYPE", prefix+"SOCKET_TYPE", "BACKEND_TYPE")
	if about == prefix+"URL" {
		r.refuse(true, about, "%s", what)
	} else {
		r.refuse(true, about, "%s; that is the default of $"+prefix+"URL: set it", what)
	}
}

// checkNodes returns what to show of the list, and what is wrong with it.
func (k *KV) checkNodes() (shown string, err error) {
	master, addrs := k.Nodes()
	if k.Type == Sentinel && (master == "" || len(addrs) == 0 || checkHostPort(master) == nil) {
		return quote(k.URL), errors.New("is not what a sentinel needs: use the name of the master and at least one sentinel, master,host:port,host:port")
	}
	for i, addr := range addrs {
		if err := checkHostPort(addr); err != nil {
			return quoteItem(addrs, i), err
		}
	}
	return "", nil
}

func (k *KV) checkPath() error {
	if k.URL[0] != '/' && checkHostPort(k.URL) == nil {
		return errors.New("is no path: use the path of a socket, or tcp as the socket type")
	}
	return checkSocket(k.URL)
}
