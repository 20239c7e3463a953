// Package mail sends the mails of an inventory: through a mail server, or into the log
// where there is none. It knows nothing of records, so it serves any other program as well.
//
//	server, err := mail.NewSMTP("smtp.example.org", "Inventory <inventory@example.org>",
//		&mail.SMTPOptions{Username: "inventory", Password: password})
//	queue := mail.NewQueue(server, nil)
//	go queue.Run(ctx) // ends some seconds after ctx, with what was in the queue
//	err = queue.Enqueue(mail.Reset(user.Email, user.Username, code, auth.ResetLifetime))
//
// [Mailer] is the seam: [SMTP], [Log] and [Queue] are mailers, and a program may bring
// its own.
//
// # Errors
//
// An [*Error] is about a mail server: which step failed, and what the server answered.
// [ErrFull] and [ErrClosed] are those of a queue. Anything else is a message or
// a setting that can't be right. No error, and nothing that is logged, has a password
// or the text of a mail in it, save what [LogOptions.Bodies] asks for.
//
// # Design notes
//
// An answer to a client never waits for a mail server: its time would tell whether
// somebody is known (reference 1.7), and a server that is down would be ours to explain.
// So mails go through a [Queue], which lives in memory. A code that is lost with the process
// is asked for again; a table of mails to send would keep codes in clear, on disk.
//
// A mail may arrive twice. If the connection ends after the last line and before the
// answer, nobody knows whether the server has it, and a mail too many is better than
// none.
//
// There is one worker. The mails of an inventory are few, and servers slow down those who
// open many connections. A mail that has to wait for its next try leaves the worker to
// the others.
//
// Each mail has a connection of its own. Keeping one open saves a few round trips, and
// costs all the care for connections that died in between.
//
// A password travels through TLS with a certificate that was checked, or not at all. Only
// a server on this machine needs none: what listens there could read our memory as well, and
// the certificate that a distribution makes for it proves nothing. For the same reason
// its certificate is not checked, unless [SMTPOptions.TLS] says how.
//
// Of the ways to log in there are PLAIN and LOGIN. Every server has one of them, and
// within TLS the others have no more to offer.
//
// Words of a server are part of an error, as nobody could find the mistake without them.
// They are cut, and what the server repeats of the password or the mail is taken out.
package mail
