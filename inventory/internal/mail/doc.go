// Package mail sends messages through an SMTP server, directly or from a queue, or writes to
// the log where no server is configured.
//
//	server, err := mail.NewSMTP("smtp.example.org", "Inventory <inventory@example.org>",
//		&mail.SMTPOptions{Username: "inventory", Password: password})
//	queue := mail.NewQueue(server, nil)
//	go queue.Run(ctx) // drains the queue after ctx ends
//	err = queue.Enqueue(mail.Reset(user.Email, user.Username, code, auth.ResetLifetime))
//
// [Reset], [PasswordChanged], [EmailChanged] and [EmailSet] return the messages about accounts.
// [SMTP], [Log] and [Queue] implement [Mailer]; programs may add their own.
//
// # Errors
//
// An [*Error] names the step that failed and the server's reply. [ErrFull] and [ErrClosed]
// are returned by a queue. Other errors are invalid messages or settings. Neither errors nor
// log records contain passwords or message bodies, except what [LogOptions.Bodies] enables.
//
// # Design notes
//
// HTTP handlers never wait for a mail server: the response time would reveal whether an
// account exists, and an unreachable server would fail the request. Messages go through a
// [Queue] in memory. A reset code that is lost with the process can be requested again; a
// database table of unsent messages would store codes in the clear.
//
// A message may arrive twice, if the connection breaks between its last line and the reply.
//
// One worker sends all messages, each over a connection of its own: there are few, and mail
// servers slow down clients with many connections. A message that waits for a retry does not
// block the others.
//
// Messages are only sent over TLS with a verified certificate, or to this machine, because they
// contain reset codes; [SMTPOptions.AllowPlaintext] changes that, but not for a password. On the
// loopback interface certificates are not verified unless [SMTPOptions.TLS] is set, because
// distributions install self-signed ones there.
//
// PLAIN and LOGIN are the supported mechanisms: every server has one of them, and over TLS the
// others add nothing. The go-mail library speaks SMTP; the steps of a session are called one
// by one because the error names the step, and because the library's own send reports a
// delivered message as failed when the command after it fails.
package mail
