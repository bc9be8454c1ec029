package testweb

import (
	"fmt"
	"io/fs"
	"mime"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// folder is what a site with a Folder answers: every file by its path, and index.html also as the folder it lies in. It is read
// once, whole, and the sites that serve it share it.
type folder struct {
	files map[string]*file
}

type file struct {
	kind      string
	body, zip []byte
}

// maxFolder keeps a mistaken Config from reading a disk into memory.
const maxFolder = 1 << 30

func readFolder(dir string) (*folder, error) {
	f := &folder{files: make(map[string]*file)}
	var total int64
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		body, err := fs.ReadFile(os.DirFS(dir), name)
		if err != nil {
			return err
		}
		if total += int64(len(body)); total > maxFolder {
			return fmt.Errorf("%s: more than %d bytes", dir, maxFolder)
		}
		kind := typeOf(name)
		d := &file{kind: kind, body: body}
		if strings.HasPrefix(kind, "text/") {
			d.zip = zip(body)
		}
		f.files["/"+name] = d
		if rest, ok := strings.CutSuffix("/"+name, "/index.html"); ok {
			f.files[rest+"/"] = d
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// typeOf is the type of a file, by its name.
func typeOf(name string) string {
	if kind := mime.TypeByExtension(filepath.Ext(name)); kind != "" {
		return kind
	}
	return "application/octet-stream"
}

// answer serves a file, compressed if the site does that and the visitor takes it.
func (f *folder) answer(x *exchange) bool {
	name, _, _ := strings.Cut(string(x.path), "?")
	d := f.files[name]
	if d == nil {
		return x.reply(404, "text/plain", "", []byte("not found\n"))
	}
	gzips := slices.ContainsFunc(x.host.site.Faults, func(f Fault) bool { return f.Kind == Gzip })
	if gzips && x.gzip && d.zip != nil {
		return x.reply(200, d.kind, "Content-Encoding: gzip\r\nVary: Accept-Encoding\r\n", d.zip)
	}
	return x.reply(200, d.kind, "", d.body)
}
