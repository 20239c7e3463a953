package mail_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/ashlar-go/ashlar/inventory/internal/mail"
)

// Without a mail server, messages are logged as not sent.
func ExampleNewLog() {
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	err := mail.NewLog(log, nil).Send(context.Background(), mail.Reset("jane@example.org", "Jane", "XQ2LPK3VAN", "", 15*time.Minute))
	fmt.Println(err)
	// Output:
	// level=WARN msg="mail not sent: no mail server is configured" to=jane@example.org subject="Password Reset Code"
	// <nil>
}

func ExampleNewSMTP() {
	server, err := mail.NewSMTP("smtp.example.org", "Inventory <inventory@example.org>",
		&mail.SMTPOptions{Username: "inventory", Password: "secret"})
	fmt.Println(server, err)
	// Output:
	// smtp.example.org:587 <nil>
}

// A queue accepts messages at once and sends them in the background.
func ExampleNewQueue() {
	queue := mail.NewQueue(mail.NewLog(slog.New(slog.DiscardHandler), nil), nil)
	err := queue.Enqueue(mail.Reset("jane@example.org", "Jane", "XQ2LPK3VAN", "", 15*time.Minute))
	fmt.Println(err, queue.Stats().Waiting)

	ctx, cancel := context.WithCancel(context.Background())
	cancel() // at shutdown, Run sends what is queued
	fmt.Println(queue.Run(ctx), queue.Stats().Sent)
	// Output:
	// <nil> 1
	// <nil> 1
}

func ExampleReset() {
	m := mail.Reset("jane@example.org", "Jane", "XQ2LPK3VAN", "", 15*time.Minute)
	fmt.Println(m)
	fmt.Println(strings.Split(m.Text, "\n")[0])
	// Output:
	// mail to "jane@example.org": "Password Reset Code"
	// Hello Jane,
}
