package mail_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory/internal/mail"
)

// TestChanges checks what the messages about changes of an account say.
func TestChanges(t *testing.T) {
	t.Parallel()
	c := &mail.Change{By: "by an administrator", At: time.Date(2026, 1, 31, 13, 0, 0, 0, time.FixedZone("", 3600)), Address: "192.0.2.1"}
	for about, m := range map[string]*mail.Message{
		"the password of your account in the network inventory was changed by": mail.PasswordChanged("jane@example.org", "Jane\r\n", c),
		"The change was made by": mail.EmailChanged("jane@example.org", "Jane", c),
	} {
		require.NoError(t, m.Check())
		require.True(t, strings.HasPrefix(m.Text, "Hello Jane,\n"), m.Text)
		require.Contains(t, m.Text, about+" an administrator at 2026-01-31 12:00 UTC from the address 192.0.2.1.\n")
		require.Contains(t, m.Text, "tell an administrator at once")
	}
	require.Contains(t, mail.PasswordChanged("jane@example.org", "", &mail.Change{At: c.At}).Text, "Hello,\n\nthe password of your account in the network inventory was changed at 2026")
	require.NoError(t, mail.EmailSet("jane@example.org").Check())
}
