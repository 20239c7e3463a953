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

// file is one that the page loads.
type file struct {
	name        string // with the hash of its bytes
	contentType string
	tag         string // of the plain form
	data        []byte
	zipped      bool // data is compressed
}

// load reads an embedded file.
func load(name, contentType string) *file {
	data, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic("apidocs: " + err.Error()) // what is embedded is there
	}
	plain, zipped := strings.CutSuffix(name, ".gz")
	tag := tagOf(data)
	extension := path.Ext(plain)
	return &file{
		name:        strings.TrimSuffix(plain, extension) + "-" + strings.Trim(tag, `"`) + extension,
		contentType: contentType, tag: tag, data: data, zipped: zipped,
	}
}

// tagOf is the strong entity tag of some bytes.
func tagOf(data []byte) string {
	sum := sha256.Sum256(data)
	return `"` + hex.EncodeToString(sum[:8]) + `"`
}

// serve sends the file as it is, or unpacked to who does not take it like that. Its name
// changes with its bytes, so it may be kept for good.
func (f *file) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	tag, asIs := f.tag, !f.zipped || httpx.AcceptsGzip(r)
	if f.zipped {
		h.Add("Vary", "Accept-Encoding")
	}
	if f.zipped && asIs {
		tag = strings.TrimSuffix(tag, `"`) + `-gzip"`
	}
	httpx.SetTag(w, tag)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Content-Type", f.contentType)
	h.Set("X-Content-Type-Options", "nosniff")
	if httpx.NotModified(w, r, f.tag) {
		return
	}
	if f.zipped && asIs {
		h.Set("Content-Encoding", "gzip")
	}
	if asIs {
		h.Set("Content-Length", strconv.Itoa(len(f.data)))
		_, _ = w.Write(f.data)
		return
	}
	f.unpack(w, r)
}

// unpack sends the plain form. A gzip file ends in the length of that.
func (f *file) unpack(w http.ResponseWriter, r *http.Request) {
	size := binary.LittleEndian.Uint32(f.data[len(f.data)-4:])
	w.Header().Set("Content-Length", strconv.FormatUint(uint64(size), 10))
	if r.Method == http.MethodHead {
		return
	}
	plain, err := gzip.NewReader(bytes.NewReader(f.data))
	if err == nil {
		_, _ = io.Copy(w, plain)
	}
}
