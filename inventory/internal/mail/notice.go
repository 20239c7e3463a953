package mail

import (
	_ "embed"
	"text/template"
	"time"
)

// Change describes a change of an account in [PasswordChanged] and [EmailChanged].
type Change struct {
	By      string    // how, such as "by an administrator"; empty for unknown
	At      time.Time // shown in UTC
	Address string    // of the client; empty for unknown
}

// PasswordChanged returns the message to a user whose password was changed. name may be empty.
func PasswordChanged(to, name string, c *Change) *Message {
	return changed(to, "Your password was changed", name, "the password of your account in the network inventory was changed", c)
}

// EmailChanged returns the message to the earlier address of a user whose email address was changed.
// name may be empty.
func EmailChanged(to, name string, c *Change) *Message {
	return changed(to, "Your email address was changed", name,
		"the email address of your account in the network inventory was changed. This address gets no further messages about it. The change was made", c)
}

// EmailSet returns the message to the new address of a user. It says nothing of the user, because the
// address may be that of somebody else.
func EmailSet(to string) *Message {
	return &Message{To: to, Subject: "Email address of an account", Text: emailSetText}
}

//go:embed email_set.txt
var emailSetText string

// changedText is the text of a message about a change.
//
//go:embed changed.txt
var changedText string

func changed(to, subject, name, what string, c *Change) *Message {
	data := struct{ Name, What, By, At, Address string }{printableName(name), what, c.By, c.At.UTC().Format("2006-01-02 15:04 UTC"), c.Address}
	return &Message{To: to, Subject: subject, Text: render(template.Must(template.New("text").Parse(changedText)), data)}
}
