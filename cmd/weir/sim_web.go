package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"weir/sim/web"
)

// origin says where a web comes from: a preset, or a file. What a file leaves
// out is made up too.
type origin struct {
	name  string  // of the file with the prefix of its form, if it needs one
	scale float64 // 0: it is a file
	seed  uint64
}

// origins returns the webs that the flags name.
func (f *labFlags) origins() ([]origin, error) {
	var all []origin
	made := false
	for _, name := range f.Web {
		if !slices.Contains(web.Presets, name) {
			if err := known(name); err != nil {
				return nil, err
			}
			for _, seed := range f.Seed {
				all = append(all, origin{name: name, seed: seed})
			}
			continue
		}
		made = true
		for _, scale := range f.Scale {
			for _, seed := range f.Seed {
				s := origin{name, scale, seed}
				if _, err := s.shape(); err != nil {
					return nil, err
				}
				all = append(all, s)
			}
		}
	}
	if !made && len(f.Scale) > 1 {
		return nil, usage("--scale is for "+strings.Join(web.Presets, ", "), "a web from a file is as large as it is")
	}
	seen := map[origin]bool{}
	return slices.DeleteFunc(all, func(s origin) bool {
		twice := seen[s]
		seen[s] = true
		return twice
	}), nil
}

// bare are the forms of graphs that are only numbers. Both look alike, and so a
// prefix of the file's name says which it is.
var bare = []struct {
	prefix string
	read   func(io.Reader, web.Shape) (*web.Web, error)
}{
	{"edges:", web.ReadPairs},
	{"adj:", web.ReadAdjacency},
}

// form returns the file of a web and how it is read.
func form(name string) (file string, read func(io.Reader, web.Shape) (*web.Web, error)) {
	for _, b := range bare {
		if file, ok := strings.CutPrefix(name, b.prefix); ok {
			return file, b.read
		}
	}
	return name, web.Load
}

// known refuses what is neither a preset nor a file.
func known(name string) error {
	name, _ = form(name)
	at, err := os.Stat(name)
	switch {
	case err == nil && at.IsDir():
		return usage("weir sim record --dir "+name+" -o "+name+".weirweb makes a web of a crawl", "--web %s is a folder", name)
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(name, "./\\"):
		return choice("--web", name, append(slices.Clone(web.Presets), "a file")...)
	}
	return usage("name a file that can be read, or one of "+strings.Join(web.Presets, ", "), "--web %s: %w", name, plain(err))
}

func (s origin) file() bool { return s.scale == 0 }

func (s origin) shape() (web.Shape, error) {
	shape, err := web.Preset(s.name, s.scale)
	if err != nil {
		return shape, usage("1 is the web of 3.5 million pages, 0.01 a hundredth of it", "--web %s --scale %v: %w", s.name, s.scale, err)
	}
	shape.Seed = s.seed
	return shape, nil
}

// String is the name without the seed.
func (s origin) String() string {
	if s.file() {
		return s.name
	}
	return web.PresetName(s.name, s.scale)
}

// What a web and a crawl of it take, in bytes, as measured with some room.
const (
	webPage   = 4 + 4 + 4 + 4 + 16 // its site, links, size, rank; to find what can be reached, or to rank
	webLink   = 4
	crawlPage = 180
	crawlBase = 32 << 20

	large         = 512 << 20
	assumedMemory = 8e9 // where a machine does not say what it has
)

// need is how much memory it takes to crawl a web, so many times at once.
func need(pages, links, worlds int) int64 {
	return int64(pages)*webPage + int64(links)*webLink + int64(worlds)*(int64(pages)*crawlPage+crawlBase)
}

// place is a web, and what a crawl can have of it.
type place struct {
	*web.Web
	ranks []float32
	pages int     // that can be reached
	bytes float64 // of them
	rank  float64 // of them
}

// open makes or reads the web, if it fits into so much memory together with one
// crawl of it.
func (s origin) open(memory int64) (*place, error) {
	p := new(place)
	var err error
	if s.file() {
		if p.Web, err = s.read(memory); err != nil {
			return nil, err
		}
	} else {
		shape, err := s.shape()
		if err != nil {
			return nil, err
		}
		n := need(shape.Pages, int(float64(shape.Pages)*shape.Links), 1)
		if n > memory {
			return nil, tooLarge(shape.Name, n, memory)
		}
		lay(n)
		if p.Web, err = web.Generate(shape); err != nil {
			return nil, failure(err, "choose another --scale")
		}
	}
	p.ranks = p.Ranks()
	for page, depth := range p.Depths() {
		if depth != web.Unreached {
			p.pages++
			p.bytes += float64(p.Size[page])
			p.rank += float64(p.ranks[page])
		}
	}
	return p, nil
}

// read reads the web from its file.
func (s origin) read(memory int64) (*web.Web, error) {
	name, load := form(s.name)
	f, err := os.Open(name)
	if err != nil {
		return nil, usage("name a file that can be read", "--web %s: %w", s.name, plain(err))
	}
	defer f.Close()
	// A link takes a byte or two of a file that is compressed.
	if at, err := f.Stat(); err == nil && at.Size() > memory/webLink {
		return nil, tooLarge(s.name, at.Size()*webLink, memory)
	}
	fill, err := web.Preset("chile", 1)
	if err != nil {
		return nil, err
	}
	fill.Seed = s.seed
	w, err := load(f, fill)
	switch {
	case errors.Is(err, web.ErrNumbers):
		return nil, failure(fmt.Errorf("--web %s: %w", s.name, err),
			fmt.Sprintf("--web edges:%s reads pairs of numbers as links, --web adj:%[1]s reads line n, from 0, as the links of page n", s.name))
	case err != nil:
		return nil, failure(fmt.Errorf("--web %s: %w", s.name, err), "it must be a web that weir sim record wrote, or a text in one of the forms that weir sim run --help shows")
	}
	n := need(w.Pages(), w.Links(), 1)
	if n > memory {
		return nil, tooLarge(s.name, n, memory)
	}
	lay(n)
	if w.Name == "" {
		w.Name = filepath.Base(name)
	}
	return w, nil
}

func tooLarge(name string, need, memory int64) error {
	return failure(fmt.Errorf("to crawl %s takes %s of memory, and %s may be used", name, bytesOf(float64(need)), bytesOf(float64(memory))),
		"choose a smaller --scale, or a larger --memory")
}

// String describes the web.
func (p *place) String() string {
	s := fmt.Sprintf("%s: %s on %s, %s, %s", p.Name, many(int64(p.Pages()), "page"), many(int64(len(p.Sites)), "site"), many(int64(p.Links()), "link"), bytesOf(p.Bytes()))
	if p.pages < p.Pages() {
		s += fmt.Sprintf("; %s can be reached", many(int64(p.pages), "page"))
	}
	return s
}

// lay makes room for a web and a crawl that take so many bytes. The larger they are
// the less is thrown away beside them, and the less of it needs to lie about.
func lay(bytes int64) {
	if bytes > large && os.Getenv("GOGC") == "" {
		debug.SetGCPercent(25)
	}
	spread(bytes)
}

// bound returns the memory that may be used, and tells the collector: webs and
// the tables of a crawl stay, and what is thrown away is a small part.
func (f *labFlags) bound() int64 {
	memory := int64(f.Memory)
	if memory == 0 {
		memory = machineMemory() / 4 * 3
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memory)
	}
	return memory
}
