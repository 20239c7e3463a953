// Package tlsfiles makes TLS configurations from PEM files: for servers whose
// certificate, key and client authorities are reloaded, and for clients.
//
//	server, err := tlsfiles.NewServer(tlsfiles.Files{Cert: "tls.crt", Key: "tls.key"}, nil)
//	if err != nil {
//		return err
//	}
//	go server.Watch(ctx, func(err error) { log.Print("TLS files reloaded: ", err) })
//	listener, err := tls.Listen("tcp", ":8081", server.Config("h2"))
//
// New connections use the reloaded files; open connections are not affected. A reload
// that fails changes nothing.
//
// With [Files].ClientCA, every client must have a certificate of one of these
// authorities, and with [Files].ClientSAN one that is valid for that DNS name.
// [ClientConfig] is the client side.
//
// # Design notes
//
// The files of an identity are replaced as a whole: a certificate and its key are often
// replaced one after the other, and between the two a reload fails and the next one
// succeeds. Client authorities are reloaded too; the reference service keeps those of its
// start, so that a removed authority stays trusted until a restart.
//
// Watch compares the contents of the files every second. It needs no file system events:
// reading a few kilobytes is cheap, and polling also works for symbolic links, mounted
// secrets and network file systems.
//
// For a resumed session crypto/tls verifies the client's chain again, against the present
// authorities. The DNS name is checked for every connection, too.
//
// A client reads its certificate at each handshake that requires one, which is cheap
// compared to the handshake; it reads its authorities once.
//
// Errors quote nothing of a file, because it may be a key in the wrong place.
package tlsfiles
