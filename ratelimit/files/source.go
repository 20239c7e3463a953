package files

import (
	"path/filepath"

	"github.com/ashlar-go/ashlar/ratelimit/config"
)

// Source says where the files are: in the directory
// <Root>/<Subdirectory>/<AppDirectory>, of which any part may be empty.
type Source struct {
	Root         string // RUNTIME_ROOT
	Subdirectory string // RUNTIME_SUBDIRECTORY
	AppDirectory string // RUNTIME_APPDIRECTORY
}

// Dir is the directory of the files.
func (s Source) Dir() string { return filepath.Join(s.Root, s.Subdirectory, s.AppDirectory) }

// Load reads the files once: config.LoadDir of the three parts. If the directory is
// missing the error names it and the settings, otherwise it is config.Faults.
func (s Source) Load(opts *config.Options) (*config.Config, error) {
	return config.LoadDir(s.Root, s.Subdirectory, s.AppDirectory, opts)
}
