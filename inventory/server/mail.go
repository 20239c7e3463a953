package server

import (
	"context"
	"fmt"
	"time"

	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/mail"
)

// openMail starts the mail queue, which sends mails until Close.
func (s *Server) openMail() error {
	mailer, err := s.mailer()
	if err != nil {
		return err
	}
	s.mails = mail.NewQueue(mailer, &mail.QueueOptions{Log: s.log})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.mails.Run(ctx) }()
	s.closers = append(s.closers, func() error {
		stop()
		return <-ended
	})
	return nil
}

func (s *Server) mailer() (mail.Mailer, error) {
	set := s.settings
	if set.MailHost == "" {
		return mail.NewLog(s.log, nil), nil
	}
	smtp, err := mail.NewSMTP(set.MailHost, set.FromAddress, &mail.SMTPOptions{
		Port: set.MailPort, Username: set.MailUsername, Password: set.MailPassword,
		AllowPlaintext: set.MailAllowPlaintext,
	})
	if err != nil {
		return nil, fmt.Errorf("MAIL_HOST, MAIL_USERNAME, MAIL_PASSWORD, FROM_ADDRESS: %w", err)
	}
	return smtp, nil
}

// sendReset queues a mail with a password reset code.
func (s *Server) sendReset(_ context.Context, to *inventory.User, code string, valid time.Duration) error {
	name := to.FirstName
	if name == "" {
		name = to.Username
	}
	return s.mails.Enqueue(mail.Reset(to.Email, name, code, valid))
}
