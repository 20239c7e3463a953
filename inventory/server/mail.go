package server

import (
	"cmp"
	"context"
	"fmt"

	"github.com/ashlar-go/ashlar/inventory/accounts"
	"github.com/ashlar-go/ashlar/inventory/feature/logins"
	"github.com/ashlar-go/ashlar/inventory/internal/mail"
)

// openMail starts the mail queue, which sends mails until Close.
func (s *Server) openMail() error {
	mailer, err := s.mailer()
	if err != nil {
		return err
	}
	s.mails = mail.NewQueue(mailer, &mail.QueueOptions{Log: s.log})
	s.background(s.mails.Run)
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

// notify queues a mail about an account.
func (s *Server) notify(_ context.Context, n *accounts.Notice) error {
	name := cmp.Or(n.User.FirstName, n.User.Username)
	change := &mail.Change{At: n.At, Address: n.Address, By: map[string]string{
		accounts.ByOwner: "by somebody who logged in as you",
		accounts.ByAdmin: "by an administrator",
		accounts.ByCode:  "with a code that was sent to you",
	}[n.By]}
	switch n.Kind {
	case accounts.ResetRequested:
		return s.mails.Enqueue(mail.Reset(n.To, name, n.Code, s.link(n.Code), n.Valid))
	case accounts.Invited:
		if s.settings.MailHost == "" || s.link(n.Code) == "" {
			return accounts.ErrNoMail
		}
		return s.mails.Enqueue(mail.Invitation(n.To, name, n.User.Username, s.link(n.Code), n.Valid))
	case accounts.PasswordChanged:
		return s.mails.Enqueue(mail.PasswordChanged(n.To, name, change))
	case accounts.EmailChanged:
		return s.mails.Enqueue(mail.EmailChanged(n.To, name, change))
	case accounts.EmailSet:
		return s.mails.Enqueue(mail.EmailSet(n.To))
	}
	return fmt.Errorf("unknown kind of notice %q", n.Kind)
}

// link returns the address of the page that uses a code, as in the settings, or "".
func (s *Server) link(code string) string {
	if s.settings.PublicURL == "" || !s.settings.Console {
		return ""
	}
	return s.settings.PublicURL + consolePrefix + logins.CodePath + code
}
