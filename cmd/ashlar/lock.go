package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// errLocked is returned by openLocked if another process has locked the file.
var errLocked = errors.New("locked by another process")

// dataLock is the lock of a data directory. The system releases it when the process ends, however it ends.
type dataLock struct {
	file *os.File
	by   holder
}

// holder is the content of the lock's file.
type holder struct {
	PID     int       `json:"pid"`
	Since   time.Time `json:"since"`
	Address string    `json:"address,omitempty"` // of the landing page, once it is known
}

// lockData locks a directory. If another process has locked it, the error says which one.
func lockData(dir string) (*dataLock, error) {
	path := filepath.Join(dir, lockFile)
	file, err := openLocked(path)
	if errors.Is(err, errLocked) {
		return nil, fmt.Errorf("%s is used by %s: stop it, or choose another directory with -data", dir, readHolder(path))
	}
	if err != nil {
		return nil, err
	}
	l := &dataLock{file, holder{PID: os.Getpid(), Since: time.Now().Truncate(time.Second)}}
	if err := l.write(); err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

// readHolder describes the process that has locked a file.
func readHolder(path string) string {
	by := holder{}
	text, err := os.ReadFile(path) // #nosec G304 -- the user names the directory
	if err != nil || json.Unmarshal(text, &by) != nil || by.PID == 0 {
		return "another ashlar" // which has not written the file yet
	}
	who := fmt.Sprintf("another ashlar, process %d, since %s", by.PID, by.Since.Local().Format(time.DateTime))
	if by.Address != "" {
		who += ", at " + by.Address
	}
	return who
}

// write replaces the content of the file.
func (l *dataLock) write() error {
	text, err := json.Marshal(l.by)
	if err != nil {
		return err
	}
	if _, err := l.file.WriteAt(append(text, '\n'), 0); err != nil {
		return err
	}
	return l.file.Truncate(int64(len(text) + 1)) // an earlier text may have been longer
}

// close releases the lock. The file stays: a process that has just opened it could otherwise lock a deleted file,
// while a third one locks a new file.
func (l *dataLock) close() error { return l.file.Close() }
