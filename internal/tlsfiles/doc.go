// Package tlsfiles makes TLS configurations from files: for servers whose certificate,
// key and client authorities change while they run, and for clients.
//
//	server, err := certs.NewServer(certs.Files{Cert: "tls.crt", Key: "tls.key"}, nil)
//	if err != nil {
//		return err
//	}
//	listener, err := tls.Listen("tcp", ":8081", server.Config("h2"))
//
// Whoever watches the directories in [Server.Dirs] calls [Server.Reload] when
// something happens there. New connections get what is new; connections that are
// open stay as they are. A reload that fails changes nothing.
//
// With Files.ClientCA every client must show a certificate from one of those
// authorities, and with Files.ClientSAN one for that DNS name (specification,
// Authentication 1 and 2). [ClientConfig] is the other side (Authentication 3 and 4).
//
// What is wrong with a file is a [FileError]: it names the role, the path, the reason
// and what would be right. Certificates out of their time, and others that work but
// that the other side will hardly accept, are warnings in the log.
//
// # Design notes
//
// A reload is all or nothing. A certificate and its key are replaced in two steps more
// often than in one, and between them they don't fit; the reload there fails, says so,
// and the next one succeeds. The three files may lie in three directories.
//
// Client authorities are reloaded too. The reference service keeps those of its start
// (1.12), so an authority that is trusted no longer stays trusted until a restart.
//
// A session ticket says which authorities let its client in, and is void once they
// change: the client has to show its certificate again. The standard library looks at
// the chain of a resumed session by itself, but how closely has changed between its
// versions. The DNS name is checked on every connection, resumed or not.
//
// The package watches nothing and starts no goroutine. Watching is one job, and a
// server has more than certificates to watch.
//
// A client reads its certificate at each handshake that asks for one, which costs two
// small reads where a handshake costs signatures; what it trusts is read once. Skipping
// the verification of the host name skips nothing else.
//
// Errors never quote what a file holds, because it may be a key in the wrong place.
package tlsfiles
