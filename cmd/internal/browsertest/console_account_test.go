package browsertest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/inventory/auth"
)

// TestReadOnlyToken: four clicks make an API token that reads, which is shown once.
func TestReadOnlyToken(t *testing.T) {
	t.Parallel()
	s := startConsole(t, 3)
	page := s.open("editor", "/", nil)
	page.Spent(1)
	page.Click(`summary[title="Account"]`)
	page.Click(`.menu-panel a[href$="/account"]`)
	page.Type("#token-name", "Ansible")
	page.Type("#token-current", consolePassword)
	page.Submit(".account-new .button-main")
	page.Spent(4)
	token := page.Text(".account-secrets code")
	s.looks(page, "token")
	reader := *s
	reader.token = token
	reader.first("/devices")
	page.Submit(`a[href$="/account"].button`)
	require.Contains(t, page.Text("#account-tokens"), "read everything")
	require.NotContains(t, page.HTML(), token)
	page.Click("[data-some]")
	pick(page, "#scope-devices", "devices:read")
	s.looks(page, "account-tokens")
	page.Type("#token-name", "Ansible")
	page.Type("#token-current", "wrong")
	page.Submit(".account-new .button-main")
	page.AwaitText(".problems", "Current password")
	page.Expected("400")
	page.Submit(".account-end button")
	require.Contains(t, page.Text(".notice"), "Ended")
	require.Contains(t, page.Text("#account-tokens"), "None")
}

// TestInviteColleague: three clicks make a link, with which a colleague chooses a password and signs in.
func TestInviteColleague(t *testing.T) {
	t.Parallel()
	s := startConsole(t, 3)
	page := s.open("admin", "/", nil)
	page.Spent(1)
	page.Click(`nav a[href$="/r/users"]`)
	page.Click(`[data-key="new"]`)
	page.Type("#f-email", "jane@example.com")
	pick(page, "#f-role", "editor")
	s.looks(page, "invite")
	page.Submit(".change-actions .button-main")
	page.Spent(3)
	link := page.Text(".account-secrets code")
	s.looks(page, "invited")
	page.Submit(`.account-once a.button`)
	require.Contains(t, page.Text("#account-access"), "Invited")
	s.looks(page, "invited-user")
	page.Submit("#account-access .button-main")
	again := page.Text(".account-secrets code")
	colleague := Open(t, link, nil)
	choose := func() {
		colleague.Type("#password", consolePassword)
		colleague.Type("#again", consolePassword)
		colleague.Submit(".sign-in .button-main")
	}
	s.looks(colleague, "choose-password")
	choose()
	colleague.AwaitText(".problems", "Invalid or expired")
	colleague.Expected("404")
	colleague.Goto(again)
	choose()
	colleague.AwaitText(".notice", "password")
	colleague.Type("#password", consolePassword)
	colleague.Submit(".sign-in .button-main")
	colleague.Await(".frame:not(.frame-single)")
	require.Contains(t, colleague.Text("header"), "jane@example.com")
	require.Equal(t, "editor", s.first("/users?email=jane@example.com")["role"])
}

// TestAuthenticatorPages: a user scans a QR code, and an admin turns the authenticator off.
func TestAuthenticatorPages(t *testing.T) {
	t.Parallel()
	s := startConsole(t, 1)
	page := s.open("viewer", "/account", nil)
	page.Click("#account-access details:nth-of-type(2) summary")
	page.Type("#totp-current", consolePassword)
	s.looks(page, "account")
	page.Submit("#account-access details:nth-of-type(2) .button-main")
	page.Await(".account-qr path")
	s.looks(page, "authenticator")
	code, err := auth.TOTPCode(page.Text("#secret"), time.Now())
	require.NoError(t, err)
	page.Type("#code", code)
	page.Submit(".account-factor .button-main")
	var codes int
	page.Eval(`document.querySelectorAll(".account-secrets li").length`, &codes)
	require.Equal(t, auth.RecoveryCodes, codes)
	s.looks(page, "recovery-codes")
	page.Submit(`.account-once a.button`)
	require.Contains(t, page.Text("#account-access"), "on")
	s.looks(page, "account-factor")
	admin := s.open("admin", "/r/users/"+s.first("/users?username=viewer")["id"].(string), nil)
	s.looks(admin, "user")
	admin.Submit("#account-access .button-bad")
	require.Contains(t, admin.Text("#account-access"), "off")
	require.Equal(t, false, s.first("/users?username=viewer")["totp"])
}

// TestUserLocations: the locations that a user is limited to are chosen by name, one after the other, without JavaScript too.
func TestUserLocations(t *testing.T) {
	t.Parallel()
	s := startConsole(t, 1)
	north, south := s.create("locations", map[string]any{"name": "North, hall 1"}), s.create("locations", map[string]any{"name": "South"})
	id := s.first("/users?username=viewer")["id"].(string)
	page := s.open("admin", "/r/users/"+id+"/edit", nil)
	for _, name := range []string{"North", "South"} {
		page.Type("#f-location_ids", name)
		page.AwaitText(".change-list:not([hidden]) [aria-selected=true]", name)
		page.Press(kb.Enter)
	}
	page.AwaitText(".change-picks", "South")
	s.looks(page, "user-locations")
	page.Submit(".change-actions .button-main")
	require.ElementsMatch(t, []any{north, south}, s.first("/users?username=viewer")["location_ids"])
	require.Contains(t, page.Text("main"), "North, hall 1")
	require.NotContains(t, page.Text("main"), north)

	plain := s.open("admin", "/r/users/"+id+"/edit", &Options{NoScript: true})
	plain.Click(`.change-picks input[value="` + south + `"]`)
	plain.Type("#f-location_ids", "nowhere at all")
	plain.Submit(".change-actions .button-main")
	require.Contains(t, plain.Text(".problems"), "Locations")
	plain.Type("#f-location_ids", kb.End+strings.Repeat(kb.Backspace, 20))
	plain.Submit(".change-actions .button-main")
	require.Equal(t, []any{north}, s.first("/users?username=viewer")["location_ids"])
}
