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

// asProgram is an environment variable that makes the test binary run the program.
const asProgram = "BOOKCATALOGD_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		cli.Main("bookcatalogd", run)
	}
	os.Exit(m.Run())
}

// child starts the program in a new process and returns the URL of its books.
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
		t.Fatalf("the program did not start: %q, %v", line, err)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }() // ends with the process
	_, rest, _ := strings.Cut(line, "http://")
	host, _, _ := strings.Cut(rest, "/")
	return cmd, "http://" + host + "/api/books"
}

// TestKill kills the process while it writes, several times with the same file. Each time the
// file must open again and contain every book that was acknowledged with 201.
func TestKill(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "books.db")
	acked := map[string]string{}
	for round := range 3 {
		cmd, url := child(t, "-addr", "127.0.0.1:0", "-db", path)
		for id, title := range writeUntilKilled(t, cmd, url, round) {
			acked[id] = title
		}
		checkBooks(t, path, acked)
	}
	if len(acked) < 60 {
		t.Errorf("only %d books were acknowledged", len(acked))
	}
}

const (
	writers   = 4
	killAfter = 40 // number of responses before the process is killed
)

// writeUntilKilled adds books over several connections, kills the process while requests are
// in flight, and returns the acknowledged titles by id.
func writeUntilKilled(t *testing.T, cmd *exec.Cmd, url string, round int) map[string]string {
	t.Helper()
	var mu sync.Mutex
	acked := map[string]string{}
	enough := make(chan struct{})
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := 0; ; i++ {
				b, err := post(url, fmt.Sprintf("round %d writer %d book %d", round, w, i))
				if err != nil {
					return // the process was killed
				}
				mu.Lock()
				acked[b.ID] = b.Title
				if len(acked) == killAfter {
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
		t.Fatal("requests failed before the process was killed")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-stopped
	_ = cmd.Wait() // the error reports the kill
	return acked
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

// checkBooks checks that the file contains the acknowledged books, and at most those besides
// that were in flight when the process was killed.
func checkBooks(t *testing.T, path string, acked map[string]string) {
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
	stored := map[string]string{}
	for _, b := range books {
		stored[b.ID] = b.Title
	}
	for id, title := range acked {
		if stored[id] != title {
			t.Errorf("book %s was acknowledged as %q, but is stored as %q", id, title, stored[id])
		}
	}
	if more := len(stored) - len(acked); more < 0 || more > 3*writers {
		t.Errorf("%d books are stored, %d were acknowledged", len(stored), len(acked))
	}
}
