package httpx

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
)

// Files serves files that pages load, such as style sheets and scripts. Their names contain a hash of
// the content, so that browsers may cache them forever. Create it with [NewFiles]. It is an
// http.Handler for the paths "/" + [Files.Name], safe for concurrent use.
type Files struct {
	names map[string]string // hashed names by the names of the files
	files map[string]*file  // by their hashed names
}

// file is a file of Files.
type file struct {
	contentType string
	tag         string // of the uncompressed form
	data        []byte
	zipped      bool // data is gzip
}

// contentTypes are those of the files that pages load. The table of package mime depends on the machine.
var contentTypes = map[string]string{
	".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
	".txt": "text/plain; charset=utf-8", ".png": "image/png", ".woff2": "font/woff2", ".json": "application/json",
}

// NewFiles reads all files at the top of the given file systems, usually embedded ones. A file that ends
// in .gz is gzip; it is served under its name without .gz, decompressed for clients that do not accept
// gzip. Others are compressed here if that makes them smaller. A file of a later file system replaces
// one of the same name. The error names a file that cannot be read or whose type is unknown.
func NewFiles(sources ...fs.FS) (*Files, error) {
	f := &Files{names: map[string]string{}, files: map[string]*file{}}
	for _, source := range sources {
		entries, err := fs.ReadDir(source, ".")
		if err != nil {
			return nil, fmt.Errorf("read files of pages: %w", err)
		}
		for _, e := range entries {
			if e.IsDir() {
				continue
			}
			data, err := fs.ReadFile(source, e.Name())
			if err == nil {
				err = f.Add(e.Name(), data)
			}
			if err != nil {
				return nil, fmt.Errorf("file %q of pages: %w", e.Name(), err)
			}
		}
	}
	return f, nil
}

// Add adds a file, under the rules of [NewFiles], before f serves.
func (f *Files) Add(name string, data []byte) error {
	plain, zipped := strings.CutSuffix(name, ".gz")
	extension := path.Ext(plain)
	kind := contentTypes[extension]
	if kind == "" {
		return fmt.Errorf("unknown type %q: use .css, .js, .svg, .txt, .png, .woff2 or .json", extension)
	}
	sum := sha256.Sum256(data)
	hash := hex.EncodeToString(sum[:8])
	made := &file{contentType: kind, tag: `"` + hash + `"`, data: data, zipped: zipped}
	if !zipped {
		var smaller bytes.Buffer
		z, err := gzip.NewWriterLevel(&smaller, gzip.BestCompression)
		if err != nil {
			return err
		}
		_, err = z.Write(data)
		if err := errors.Join(err, z.Close()); err != nil {
			return err
		}
		if smaller.Len() < len(data) {
			made.data, made.zipped = smaller.Bytes(), true
		}
	}
	delete(f.files, f.names[plain])
	hashed := strings.TrimSuffix(plain, extension) + "-" + hash + extension
	f.names[plain], f.files[hashed] = hashed, made
	return nil
}

// Name returns the name under which a file is served, such as "page-0123456789abcdef.css" for page.css,
// or "" if there is no such file.
func (f *Files) Name(name string) string { return f.names[name] }

// ServeHTTP serves the file whose hashed name is the path.
func (f *Files) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	found := f.files[strings.TrimPrefix(r.URL.Path, "/")]
	switch {
	case found == nil:
		WriteError(w, r, Errorf(http.StatusNotFound, "Not Found"))
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		WriteError(w, r, &Error{
			Status: http.StatusMethodNotAllowed, Message: "Method Not Allowed: use GET or HEAD",
			Header: http.Header{"Allow": {"GET, HEAD"}},
		})
	default:
		found.serve(w, r)
	}
}

// serve sends the file, decompressed for clients without gzip.
func (f *file) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	tag, stored := f.tag, !f.zipped || AcceptsGzip(r)
	if f.zipped {
		h.Add("Vary", "Accept-Encoding")
	}
	if f.zipped && stored {
		tag = strings.TrimSuffix(tag, `"`) + `-gzip"`
	}
	SetTag(w, tag)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Content-Type", f.contentType)
	h.Set("X-Content-Type-Options", "nosniff")
	if NotModified(w, r, f.tag) {
		return
	}
	if f.zipped && stored {
		h.Set("Content-Encoding", "gzip")
	}
	if stored {
		h.Set("Content-Length", strconv.Itoa(len(f.data)))
		_, _ = w.Write(f.data)
		return
	}
	f.unpack(w, r)
}

// unpack sends the uncompressed form. Its length is at the end of a gzip file.
func (f *file) unpack(w http.ResponseWriter, r *http.Request) {
	size := binary.LittleEndian.Uint32(f.data[len(f.data)-4:])
	w.Header().Set("Content-Length", strconv.FormatUint(uint64(size), 10))
	if r.Method == http.MethodHead {
		return
	}
	plain, err := gzip.NewReader(bytes.NewReader(f.data))
	if err == nil {
		_, _ = io.Copy(w, plain) // #nosec G110 -- a file of the program, of known size
	}
}
