package apidocs

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/binary"
	"encoding/hex"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"

	"github.com/ashlar-go/ashlar/httpx"
)

//go:embed assets/page.html assets/page.css assets/init.js assets/*.gz assets/LICENSE.txt
var assets embed.FS

// file is a file that the page loads.
type file struct {
	name        string // contains the hash
	contentType string
	tag         string // of the uncompressed form
	data        []byte
	zipped      bool // data is gzip
}

// load returns an embedded file.
func load(name, contentType string) *file {
	data, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic("apidocs: " + err.Error()) // cannot happen: the file is embedded
	}
	plain, zipped := strings.CutSuffix(name, ".gz")
	tag := tagOf(data)
	extension := path.Ext(plain)
	return &file{
		name:        strings.TrimSuffix(plain, extension) + "-" + strings.Trim(tag, `"`) + extension,
		contentType: contentType, tag: tag, data: data, zipped: zipped,
	}
}

// tagOf returns the strong entity tag of data.
func tagOf(data []byte) string {
	sum := sha256.Sum256(data)
	return `"` + hex.EncodeToString(sum[:8]) + `"`
}

// serve sends the file, decompressed for clients without gzip. It may be cached forever, because
// its name changes with its content.
func (f *file) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	tag, stored := f.tag, !f.zipped || httpx.AcceptsGzip(r)
	if f.zipped {
		h.Add("Vary", "Accept-Encoding")
	}
	if f.zipped && stored {
		tag = strings.TrimSuffix(tag, `"`) + `-gzip"`
	}
	httpx.SetTag(w, tag)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Content-Type", f.contentType)
	h.Set("X-Content-Type-Options", "nosniff")
	if httpx.NotModified(w, r, f.tag) {
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
		_, _ = io.Copy(w, plain) // #nosec G110 -- an embedded file of known size
	}
}
