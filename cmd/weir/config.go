package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// crawlFile is the name of the settings in a crawl folder.
const crawlFile = "crawl.yaml"

// maxConfig bounds a config file, in bytes.
const maxConfig = 1 << 20

// newSuffix ends the name of a file that is being written.
const newSuffix = ".new"

// notKept stands in crawl.yaml for a value that may be secret.
const notKept = "(not kept)"

// readConfig reads a YAML file into settings and returns the names that it
// sets, each with its file and line. A name in taken keeps the value it has.
func readConfig(file string, s *settings, taken map[string]bool) (names map[string]string, err error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, usage("check the name and the permissions of the file", "cannot read the settings: %w", err)
	}
	return parseConfig(file, b, s, taken)
}

// parseConfig is readConfig for what a file holds.
func parseConfig(file string, b []byte, s *settings, taken map[string]bool) (names map[string]string, err error) {
	if len(b) > maxConfig {
		return nil, usage("seeds belong in a file of their own: --seeds FILE", "%s: longer than %s", file, bytesOf(maxConfig))
	}
	if line := tooDeep(b); line > 0 {
		return nil, usage("settings are plain values, and lists of them", "%s:%d: values stand too deep in one another", file, line)
	}
	tree, err := parser.ParseBytes(b, 0)
	if err != nil {
		var syntax *yaml.SyntaxError
		if errors.As(err, &syntax) {
			err = fmt.Errorf("%s:%d: %s", file, syntax.Token.Position.Line, syntax.Message)
		}
		return nil, usage("it must be YAML, a key and a value per line, as in: limit: 140KB/s", "%w", err)
	}
	names = map[string]string{}
	for _, doc := range tree.Docs {
		if doc.Body == nil {
			continue
		}
		top, ok := doc.Body.(*ast.MappingNode)
		if !ok {
			return nil, usage("write a key and a value per line, as in: limit: 140KB/s", "%s:%d: not a list of settings", file, doc.Body.GetToken().Position.Line)
		}
		if err = readFields(file, top, fields(s), taken, names); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// readFields sets what the mapping node names, one key a setting, and notes where.
func readFields(file string, node *ast.MappingNode, all []field, taken map[string]bool, names map[string]string) error {
	for _, pair := range node.Values {
		name, at := pair.Key.GetToken().Value, fmt.Sprintf("%s:%d", file, pair.Key.GetToken().Position.Line)
		f, ok := find(all, name)
		if !ok {
			known := make([]string, 0, len(all))
			for _, f := range all {
				known = append(known, f.name)
			}
			hint := "weir crawl --help lists the flags; each is a key of the same name"
			if _, ok := find(all, "site"); ok {
				hint = "there are " + strings.Join(known, ", ")
			}
			if near := nearest(name, known); near != "" {
				hint = "did you mean " + near + "?"
			}
			return usage(hint, "%s: there is no setting called %q", at, name)
		}
		if taken[name] {
			continue
		}
		names[name] = at
		if sites, ok := f.value.Addr().Interface().(*[]site); ok {
			if err := readSites(file, at, pair.Value, sites); err != nil {
				return err
			}
			continue
		}
		texts, err := scalars(pair.Value)
		if err == nil {
			err = f.set(texts...)
		}
		if err != nil {
			return usage(cmp.Or(siteHints[name], "weir crawl --help says what --"+name+" takes"), "%s: %s: %w", at, name, err)
		}
	}
	return nil
}

// siteHints are about keys of a site that no flag has.
var siteHints = map[string]string{
	"site":    siteHint,
	"size":    "write about how many bytes it has, as in size: 2GB",
	"pages":   "write about how many pages it has, as in pages: 40000",
	"headers": "write a list of them, as in headers: ['Accept-Language: de']",
}

// readSites reads the list of settings of single hosts.
func readSites(file, at string, node ast.Node, sites *[]site) error {
	const hint = "write it as in: sites: [{site: example.org, wait: 5s, limit: 100KB/s, max-pages: 1000, deadline: 06:00, size: 2GB, headers: [...]}]"
	list, ok := node.(*ast.SequenceNode)
	if !ok {
		return usage(hint, "%s: sites is not a list", at)
	}
	*sites = nil
	for _, item := range list.Values {
		at := fmt.Sprintf("%s:%d", file, item.GetToken().Position.Line)
		m, ok := item.(*ast.MappingNode)
		if !ok {
			return usage(hint, "%s: not the settings of a site", at)
		}
		if len(m.Values) > 0 {
			at = fmt.Sprintf("%s:%d", file, m.Values[0].Key.GetToken().Position.Line) // the token of a table is a colon somewhere in it
		}
		s := site{Wait: -1, at: at}
		if err := readFields(file, m, fields(&s), nil, map[string]string{}); err != nil {
			return err
		}
		if s.Site == "" {
			return usage(hint, "%s: settings without a site", at)
		}
		*sites = append(*sites, s)
	}
	return nil
}

// scalars returns the texts of a plain value or of a list of plain values.
func scalars(node ast.Node) ([]string, error) {
	switch n := node.(type) {
	case *ast.SequenceNode:
		texts := make([]string, 0, len(n.Values))
		for _, v := range n.Values {
			one, err := scalars(v)
			if err != nil || len(one) != 1 {
				return nil, errors.New("the list holds more than plain values")
			}
			texts = append(texts, one[0])
		}
		return texts, nil
	case *ast.LiteralNode:
		return []string{n.Value.Value}, nil
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return []string{node.GetToken().Value}, nil
	case *ast.NullNode:
		return nil, errors.New("there is no value")
	}
	return nil, errors.New("it is not a plain value")
}

// writeConfig keeps the settings in the crawl folder, whole or not at all.
func writeConfig(dir string, s *settings) error {
	b, err := yaml.Marshal(kept(s))
	if err != nil {
		return fmt.Errorf("write %s: %w", crawlFile, err)
	}
	head := "# Settings of this crawl, written by weir " + version() + ". weir crawl --dir goes on with them.\n"
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	return replace(filepath.Join(dir, crawlFile), append([]byte(head), b...))
}

// kept are the settings as crawl.yaml has them: without what is of one run
// only, and without secrets.
func kept(s *settings) yaml.MapSlice {
	var out yaml.MapSlice
	for _, f := range fields(s) {
		if f.keep == "no" || f.empty() {
			continue
		}
		var value any
		switch v := f.value.Interface().(type) {
		case bool:
			value = v
		case []string:
			value = v
			switch {
			case f.name == "header":
				value = veiled(v)
			case f.name == "program" && len(v) == 1:
				value = v[0]
			}
		case []site:
			sites := make([]yaml.MapSlice, len(v))
			for i, one := range v {
				one.Headers = veiled(one.Headers)
				for _, f := range fields(&one) {
					switch {
					case f.list() && f.value.Len() > 0:
						sites[i] = append(sites[i], yaml.MapItem{Key: f.name, Value: f.value.Interface()})
					case !f.list() && f.text() != none && f.text() != "":
						sites[i] = append(sites[i], yaml.MapItem{Key: f.name, Value: plainest(f.text())})
					}
				}
			}
			value = sites
		default:
			value = plainest(f.text())
			if f.name == "proxy" && strings.Contains(f.text(), "@") {
				value = notKept
			}
		}
		out = append(out, yaml.MapItem{Key: f.name, Value: value})
	}
	return out
}

// plainest makes a number of a text that is one, so that it needs no quotes.
func plainest(text string) any {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && strconv.FormatInt(n, 10) == text {
		return n
	}
	return text
}

// veiled returns headers without their values.
func veiled(headers []string) []string {
	out := make([]string, len(headers))
	for i, h := range headers {
		name, _, _ := strings.Cut(h, ":")
		out[i] = name + ": " + notKept
	}
	return out
}

// replace writes a file so that a crash leaves the old one or the new one.
func replace(name string, b []byte) error {
	f, err := os.Create(name + newSuffix)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		os.Remove(f.Name())
		return err
	}
	return syncDir(filepath.Dir(name))
}

// syncDir makes names in a folder durable, where the system lets a folder be
// opened at all.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if e := d.Close(); err == nil {
		err = e
	}
	return err
}
