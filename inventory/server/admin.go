package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"strings"

	"github.com/ashlar-go/ashlar/internal/suggest"
	"github.com/ashlar-go/ashlar/inventory"
	"github.com/ashlar-go/ashlar/inventory/accounts"
	"github.com/ashlar-go/ashlar/inventory/auth"
	"github.com/ashlar-go/ashlar/inventory/records"
)

// firstAdmin creates an administrator if there are no users. It prints a generated password,
// which is not available later.
func (s *Server) firstAdmin(ctx context.Context, engine *records.Engine, hasher *auth.Hasher, o *Options) error {
	marking, err := markNew(ctx, engine)
	if err != nil {
		return err
	}
	admin, password, err := accounts.FirstAdmin(ctx, marking, hasher, s.settings.AdminUsername, s.settings.AdminPassword)
	if err != nil {
		return fmt.Errorf("ADMIN_USERNAME, ADMIN_PASSWORD: %w", err)
	}
	if admin != nil && o.passwordCost == (auth.Cost{}) {
		debug.FreeOSMemory() // hashing used more memory than serving will
	}
	if admin == nil || s.settings.AdminPassword != "" {
		return nil
	}
	_, err = fmt.Fprintf(o.Output, "the first admin is %q with the password %s\n%s", admin.Username, password, changeFirst(s.settings, admin, password))
	return err
}

// changeFirst returns what a user with a generated password has to do first, as a command.
func changeFirst(s *Settings, u *inventory.User, password string) string {
	url := s.url(s.Addr)
	credentials, _ := json.Marshal(map[string]string{"username": u.Username, "password": password})
	passwords, _ := json.Marshal(map[string]string{"current_password": password, "new_password": "..."})
	quote := func(text []byte) string { return "'" + strings.ReplaceAll(string(text), "'", `'\''`) + "'" }
	login := fmt.Sprintf(`curl -s %s/users/login --json %s | sed 's/.*"token":"\([^"]*\)".*/\1/'`, url, quote(credentials))
	return "it is shown only now, and allows nothing but to change it; put the new one in place of the dots:\n" +
		fmt.Sprintf("  curl -X PUT %s/users/%s/password -H \"Authorization: Bearer $(%s)\" --json %s\n", url, u.ID, login, quote(passwords))
}

// ResetAdmin makes the user with a name an active administrator again, in the database of the
// settings, while servers use it or not (accounts.ResetAdmin). It prints the new password to output,
// once. A nil log means slog.Default().
func ResetAdmin(ctx context.Context, s *Settings, username string, output io.Writer, log *slog.Logger) error {
	if err := mustExist(s); err != nil {
		return err
	}
	return withStore(ctx, s, log, "change", func(store records.Store) error {
		hasher, err := auth.NewHasher(nil)
		if err != nil {
			return err
		}
		admin, password, err := accounts.ResetAdmin(ctx, records.New(store, nil), hasher, username)
		if records.KindOf(err) == records.NotFound {
			return fmt.Errorf("%w%s", err, knownUsers(ctx, store, username))
		}
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(output, "%q is an active admin with the password %s; earlier sessions end within 5 seconds\n%s",
			admin.Username, password, changeFirst(s, admin, password))
		return err
	})
}

// maxKnown is the maximum number of users that knownUsers reads.
const maxKnown = 1000

// knownUsers returns the end of the error about an unknown user: the name that was probably meant, or an admin.
func knownUsers(ctx context.Context, store records.Reader, username string) string {
	all, err := records.Select[inventory.User](ctx, store, &records.Query{Limit: maxKnown})
	if err != nil {
		return ""
	}
	var names []string
	admin := ""
	for _, u := range all {
		names = append(names, u.Username)
		if admin == "" && u.Role == inventory.Admin {
			admin = u.Username
		}
	}
	if meant := suggest.Closest(username, names, max(2, len(username)/3)); meant != "" {
		return fmt.Sprintf(": did you mean %q?", meant)
	}
	if admin == "" {
		return ""
	}
	return fmt.Sprintf(": an admin is %q", admin)
}
