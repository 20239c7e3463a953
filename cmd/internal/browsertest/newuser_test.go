package browsertest_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/ashlar-go/ashlar/internal/servertest"
)

// startAshlar starts the program on free ports, with so many devices in a directory of the test, and returns the
// address of its landing page. The program is killed when the test ends.
func startAshlar(t *testing.T, devices int) (home, signIn string) {
	t.Helper()
	programs, err := servertest.Build("../../..", nil, "./cmd/ashlar")
	require.NoError(t, err)
	args := []string{"-data", filepath.Join(t.TempDir(), "data"), "-devices", fmt.Sprint(devices)}
	for _, port := range []string{"-port", "-inventory-port", "-catalog-port", "-http-port", "-grpc-port", "-debug-port"} {
		args = append(args, port, "0")
	}
	ctx, stop := context.WithCancel(context.Background())
	program := exec.CommandContext(ctx, filepath.Join(programs, "ashlar"), args...)
	output, err := program.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, program.Start())
	t.Cleanup(func() {
		stop()
		_ = program.Wait() // it was killed
	})
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if found := regexp.MustCompile(`start here +(http://\S+/)`).FindStringSubmatch(lines.Text()); found != nil {
			home = found[1]
		}
		if found := regexp.MustCompile(`sign in as admin +(http://\S+)`).FindStringSubmatch(lines.Text()); found != nil {
			go func() { _, _ = io.Copy(io.Discard, output) }()
			return home, found[1]
		}
	}
	t.Fatal("the program does not say where to start")
	return "", ""
}

// newUser knows nothing but what pages show: links, buttons and fields by their texts.
type newUser struct {
	t    *testing.T
	page *Page
	seen int // pages
}

// find marks the first visible element that a script selects and filters, with a text that is written on it or read
// to people who do not see it.
func (u *newUser) find(elements, text string) string {
	u.t.Helper()
	var found []string
	u.page.Eval(fmt.Sprintf(`(() => {
		const plain = (s) => (s || "").replace(/\s+/g, " ").trim();
		document.querySelectorAll("[data-wanted]").forEach((e) => e.removeAttribute("data-wanted"));
		const all = [...document.querySelectorAll(%q)].filter((e) => e.checkVisibility({visibilityProperty: true}) && e.getClientRects().length > 0);
		const texts = all.map((e) => plain(e.innerText) || plain(e.getAttribute("aria-label")) || plain(e.placeholder));
		const at = texts.indexOf(%q);
		if (at < 0) return texts;
		all[at].setAttribute("data-wanted", "");
		return [];
	})()`, elements, text), &found)
	if len(found) > 0 {
		u.page.Keep("newuser-stuck")
		u.t.Fatalf("%s shows no %q, but %q", u.page.Address(), text, found)
	}
	return "[data-wanted]"
}

// follow clicks on a link or button that leads to another page.
func (u *newUser) follow(text string) {
	u.t.Helper()
	u.page.Submit(u.find("a, button", text))
	u.seen++
	u.page.Keep(fmt.Sprintf("newuser-%02d", u.seen))
}

// first returns the text of the first of the elements that contains a text.
func (u *newUser) first(elements, text string) string {
	u.t.Helper()
	var found string
	u.page.Eval(fmt.Sprintf(`[...document.querySelectorAll(%q)].map((e) => e.innerText.trim()).find((s) => s.includes(%q)) || ""`, elements, text), &found)
	require.NotEmpty(u.t, found, "%s shows nothing with %q", u.page.Address(), text)
	return found
}

// field returns the field with a label.
func (u *newUser) field(label string) string {
	u.t.Helper()
	mark := u.find("label", label)
	var id string
	u.page.Eval(`document.querySelector("`+mark+`").htmlFor`, &id)
	return "#" + id
}

// TestNewUser: somebody starts the program and, without reading anything, gets to a device, edits one of its ports,
// imports devices from a file, traces a path, and watches how a limit refuses.
func TestNewUser(t *testing.T) {
	t.Parallel()
	home, signIn := startAshlar(t, 60)
	page := Open(t, signIn, nil)
	require.Contains(t, page.Text("h1"), "Home")
	u := &newUser{t: t, page: page}
	page.Goto(home)
	page.AwaitText("#numbers", "60\ndevices")

	u.follow("Open the inventory")
	require.Contains(t, page.Text("h1"), "Home")
	page.Type(u.find("input", "Search"), "dist\n")
	page.AwaitText("h1", "Search")
	hostname := u.first("main a", "dist-")
	u.follow(hostname)
	require.Contains(t, page.Text("h1"), hostname)
	device := page.Address()

	port := u.first("#device-interfaces td a", "Ethernet")
	u.follow(port)
	u.follow("Edit")
	page.Type(u.field("Description"), kb.End+", edited by a new user")
	u.follow("Save")
	page.AwaitText(".notice", "Saved")
	page.AwaitText("main", "management, edited by a new user")
	u.follow(hostname)
	require.Equal(t, device, page.Address())
	page.AwaitText("#device-interfaces", "edited by a new user")

	u.follow("Trace")
	page.AwaitText("h1", "Trace of "+hostname)
	page.AwaitText("main", "complete")

	u.follow("Import")
	page.Upload(u.field("Drop a file here, or choose one"), writeFile(t, "devices.csv", "hostname,status,role\nnew-1,active,lab\nnew-2,active,lab\n"))
	u.follow("Preview")
	page.AwaitText("main", "All rows can be applied")
	u.follow("Apply")
	page.AwaitText("main", "Imported: 2 created, 0 changed.")
	u.follow("new-1")
	require.Contains(t, page.Text("h1"), "new-1")

	u.follow("Start page")
	page.AwaitText("#numbers", "62\ndevices")
	u.follow("Open the console")
	require.Contains(t, page.Text("h1"), "Rules")
	u.follow("client")
	u.follow("Try it")
	page.Type(u.field("Value 1"), "bob")
	page.Click(u.find("button", "Send 100"))
	page.AwaitText("#sent", "100 requests sent")
	var refused int
	page.Eval(`Number(document.querySelector("#sent-refused").textContent)`, &refused)
	require.GreaterOrEqual(t, refused, 90, "five a minute pass, ten if a minute begins in between")
	u.follow("Rules")
	page.AwaitText(`.limits-facts [data-rate-part="refused"]`, ".")
	u.follow("Start page")
	page.AwaitText("#numbers", "of 100 decisions refused")
	require.Empty(t, page.Errors())
}
