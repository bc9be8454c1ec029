package program

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"weir/query"
)

// maxSeeds is how many bytes the seeds of a program may have.
const maxSeeds = 64 << 20

// loadShare reads what a program has that shares a crawl with others. Programs that
// were kept before crawls could be shared have neither file.
func (s *Source) loadShare(dir string) error {
	name, err := readFile(filepath.Join(dir, nameFile), maxTitle)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	s.As = name
	seeds, err := readFile(filepath.Join(dir, seedFile), maxSeeds)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		s.Seeds, err = readSeeds(seeds)
	}
	return err
}

func writeSeeds(list []Seed) string {
	var b strings.Builder
	for _, s := range list {
		fmt.Fprintf(&b, "%s\t%s\n", s.URL, strconv.FormatFloat(float64(s.Score), 'g', -1, 32))
	}
	return b.String()
}

func readSeeds(text string) (list []Seed, err error) {
	for line := range strings.Lines(text) {
		u, score, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		x, err := strconv.ParseFloat(score, 32)
		if err != nil {
			return nil, fmt.Errorf("the seed %s: %w", u, err)
		}
		list = append(list, Seed{URL: u, Score: float32(x)})
	}
	return list, nil
}

// Mentions says that a program's text has a setting.
func Mentions(text, name string) bool {
	p, _ := query.Parse("", text)
	if slices.ContainsFunc(p.Sets, func(s *query.Set) bool { return s.Name == name }) {
		return true
	}
	for rest := text; ; {
		_, after, ok := strings.Cut(rest, "$"+name)
		if !ok {
			return false
		}
		if next, _ := utf8.DecodeRuneInString(after); next != '_' && !unicode.IsLetter(next) && !unicode.IsDigit(next) {
			return true
		}
		rest = after
	}
}
