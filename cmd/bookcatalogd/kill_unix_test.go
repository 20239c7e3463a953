//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ashlar-go/ashlar/bookcatalog"
	"github.com/ashlar-go/ashlar/bookcatalog/sqlstore/sqlite"
	"github.com/ashlar-go/ashlar/cmd/internal/cli"
)

// The test binary is the program if this variable is set.
const asProgram = "BOOKCATALOGD_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		cli.Main("bookcatalogd", run)
	}
	os.Exit(m.Run())
}

// child starts the program as a process of its own and returns the address of its list.
func child(t *testing.T, args ...string) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(stderr)
	line, err := lines.ReadString('\n')
	if err != nil {
		t.Fatalf("it did not start: %q, %v", line, err)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }() // ends with the process
	_, rest, _ := strings.Cut(line, "http://")
	host, _, _ := strings.Cut(rest, "/")
	return cmd, "http://" + host + "/api/books"
}

// TestKill checks that each book that was answered with 201 is in the file when the process
// is killed in the middle of writing, whole, and that the file opens again. It does so a
// few times with the same file.
func TestKill(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "books.db")
	answered := map[string]string{}
	for round := range 3 {
		cmd, url := child(t, "-addr", "127.0.0.1:0", "-db", path)
		for id, title := range writeUntilKilled(t, cmd, url, round) {
			answered[id] = title
		}
		checkBooks(t, path, answered)
	}
	if len(answered) < 60 {
		t.Errorf("only %d books were answered", len(answered))
	}
}

const (
	writers    = 4
	killBehind = 40 // how many responses to wait for
)

// writeUntilKilled adds books from several connections, kills the process with requests
// under way, and returns the titles that were answered, by id.
func writeUntilKilled(t *testing.T, cmd *exec.Cmd, url string, round int) map[string]string {
	t.Helper()
	var mu sync.Mutex
	answered := map[string]string{}
	enough := make(chan struct{})
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := 0; ; i++ {
				b, err := post(url, fmt.Sprintf("round %d writer %d book %d", round, w, i))
				if err != nil {
					return // it was killed
				}
				mu.Lock()
				answered[b.ID] = b.Title
				if len(answered) == killBehind {
					close(enough)
				}
				mu.Unlock()
			}
		})
	}
	stopped := make(chan struct{})
	go func() { all.Wait(); close(stopped) }()
	select {
	case <-enough:
	case <-stopped:
		t.Fatal("the program answered with errors before it was killed")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-stopped
	_ = cmd.Wait() // says that it was killed
	return answered
}

func post(url, title string) (b bookcatalog.Book, err error) {
	response, err := http.Post(url, "application/json", strings.NewReader(`{"title":"`+title+`"}`))
	if err != nil {
		return b, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusCreated {
		return b, fmt.Errorf("status %d", response.StatusCode)
	}
	return b, json.NewDecoder(response.Body).Decode(&b)
}

// checkBooks looks into the file.
func checkBooks(t *testing.T, path string, answered map[string]string) {
	t.Helper()
	store, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatalf("the file does not open again: %v", err)
	}
	defer store.Close()
	books, _, err := store.List(t.Context(), &bookcatalog.Query{})
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]string{}
	for _, b := range books {
		there[b.ID] = b.Title
	}
	for id, title := range answered {
		if there[id] != title {
			t.Errorf("book %s, which was answered as %q, is %q in the file", id, title, there[id])
		}
	}
	// What was under way when the process died may be there or not, and nothing else.
	if more := len(there) - len(answered); more < 0 || more > 3*writers {
		t.Errorf("%d books are in the file, %d were answered", len(there), len(answered))
	}
}
