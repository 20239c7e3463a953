package main

import (
	"bytes"
	"errors"
	"io"
	"os"
)

// maxMemory is how many bytes of an output are kept in memory. More are in a file.
const maxMemory = 256 << 10

// spool keeps output until it is shown or dropped. The zero value is empty.
type spool struct {
	memory bytes.Buffer
	file   *os.File
	err    error // of the file
}

func (s *spool) Write(p []byte) (int, error) {
	if s.file == nil && s.memory.Len()+len(p) > maxMemory && s.err == nil {
		s.file, s.err = os.CreateTemp("", "testreport-")
		if s.err == nil {
			_, s.err = s.memory.WriteTo(s.file)
		}
	}
	if s.err != nil {
		return 0, s.err
	}
	if s.file == nil {
		return s.memory.Write(p)
	}
	_, s.err = s.file.Write(p)
	return len(p), s.err
}

// moveTo writes the output to w and drops it.
func (s *spool) moveTo(w io.Writer) error {
	var err error
	if s.file == nil {
		_, err = s.memory.WriteTo(w)
	} else if _, err = s.file.Seek(0, io.SeekStart); err == nil {
		_, err = io.Copy(w, s.file)
	}
	return errors.Join(err, s.drop())
}

func (s *spool) drop() error {
	err := s.err
	if s.file != nil {
		err = errors.Join(err, s.file.Close(), os.Remove(s.file.Name()))
	}
	*s = spool{}
	return err
}
