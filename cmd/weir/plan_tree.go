package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// slip is a mistake in a file, and what to do about it.
type slip struct {
	line          int // from 1
	message, hint string
}

// value is one value of a YAML or JSON file, with the line it stands on.
type value struct {
	line  int
	kind  kind
	text  string   // of a plain value
	list  []*value // of a list
	pairs []pair   // of a table, in the order of the file
}

// pair is a key of a table and its value.
type pair struct {
	key  string
	line int
	*value
}

type kind uint8

const (
	nothing kind = iota // null, or no value at all
	plainly
	listed
	tabled
)

func (k kind) String() string {
	return [...]string{"nothing", "a plain value", "a list", "a table of keys"}[k]
}

// maxNest is how deep values may stand in one another; parsers of YAML take ages
// over what is much deeper.
const maxNest = 32

const yamlHint = "write YAML or JSON, as weir plan --example shows"

// parseTree reads YAML or JSON, whichever it is. An empty file is nothing.
func parseTree(b []byte) (*value, *slip) {
	b = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
	if !utf8.Valid(b) {
		at := 0
		for r, n := utf8.DecodeRune(b); r != utf8.RuneError || n != 1; r, n = utf8.DecodeRune(b[at:]) {
			at += n
		}
		return nil, &slip{lineAt(b, at), "this is no text in UTF-8", yamlHint}
	}
	body := bytes.TrimLeft(b, " \t\r\n")
	if len(body) == 0 {
		return &value{line: 1}, nil
	}
	if body[0] != '{' && body[0] != '[' {
		return parseYAML(b)
	}
	// YAML has such tables too, without quotes around the keys.
	v, bad := parseJSON(b)
	if bad == nil {
		return v, nil
	}
	if v, err := parseYAML(b); err == nil {
		return v, nil
	} else if rest := bytes.TrimLeft(body[1:], " \t\r\n"); len(rest) > 0 && rest[0] != '"' && rest[0] != '}' {
		return nil, err
	}
	return nil, bad
}

func lineAt(b []byte, at int) int { return 1 + bytes.Count(b[:min(max(at, 0), len(b))], []byte("\n")) }

func parseJSON(b []byte) (*value, *slip) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	p := jsonParser{Decoder: d, text: b}
	v, err := p.value(0)
	if err == nil {
		if _, more := d.Token(); more == nil {
			err = errors.New("something follows the end")
		} else if !errors.Is(more, io.EOF) {
			err = more
		}
	}
	if err == nil {
		return v, nil
	}
	at := int(d.InputOffset())
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		at = int(syntax.Offset)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err, at = errors.New("the file ends before the JSON does"), len(bytes.TrimRight(b, " \t\r\n"))
	}
	return nil, &slip{lineAt(b, at), err.Error(), yamlHint}
}

// jsonParser reads values off a decoder, which knows where it is.
type jsonParser struct {
	*json.Decoder
	text []byte
	seen int // bytes whose lines are counted
	line int // before seen
}

// here is the line where the last token ends.
func (p *jsonParser) here() int {
	at := int(p.InputOffset())
	p.line += bytes.Count(p.text[p.seen:at], []byte("\n"))
	p.seen = at
	return p.line + 1
}

func (p *jsonParser) value(depth int) (*value, error) {
	if depth > maxNest {
		return nil, errors.New("values stand too deep in one another")
	}
	token, err := p.Token()
	if err != nil {
		return nil, err
	}
	v := &value{line: p.here()}
	switch t := token.(type) {
	case nil:
	case json.Delim:
		v.kind = listed
		if t == '{' {
			v.kind = tabled
		}
		for p.More() {
			if v.kind == listed {
				one, err := p.value(depth + 1)
				if err != nil {
					return nil, err
				}
				v.list = append(v.list, one)
				continue
			}
			key, err := p.Token()
			if err != nil {
				return nil, err
			}
			line := p.here()
			one, err := p.value(depth + 1)
			if err != nil {
				return nil, err
			}
			v.pairs = append(v.pairs, pair{fmt.Sprint(key), line, one})
		}
		_, err = p.Token()
		return v, err
	default:
		v.kind, v.text = plainly, fmt.Sprint(t)
	}
	return v, nil
}

func parseYAML(b []byte) (*value, *slip) {
	if line := tooDeep(b); line > 0 {
		return nil, &slip{line, "values stand too deep in one another", yamlHint}
	}
	tree, err := parser.ParseBytes(b, 0)
	if err != nil {
		line, message := 1, err.Error()
		var syntax *yaml.SyntaxError
		if errors.As(err, &syntax) {
			line, message = syntax.Token.Position.Line, syntax.Message
		}
		return nil, &slip{line, message, yamlHint}
	}
	v := &value{line: 1}
	some := false
	for _, doc := range tree.Docs {
		if doc.Body == nil {
			continue
		}
		if some {
			return nil, &slip{doc.Body.GetToken().Position.Line, "a second document begins here, and a plan is one", "keep one plan in a file"}
		}
		var bad *slip
		if v, bad = fromYAML(doc.Body); bad != nil {
			return nil, bad
		}
		some = v.kind != nothing
	}
	return v, nil
}

// tooDeep returns the line where values stand deeper in one another than any
// plan's, or 0. It looks at brackets and dashes only, in texts too.
func tooDeep(b []byte) int {
	line, open, dashes := 1, 0, 0
	last := byte('\n')
	for _, c := range b {
		switch {
		case c == '\n':
			line++
			dashes = 0
		case c == '[' || c == '{':
			open++
		case c == ']' || c == '}':
			open = max(open-1, 0)
		case c == ' ' && (last == '-' || last == '?'):
			dashes++
		}
		if open > maxNest || dashes > maxNest {
			return line
		}
		last = c
	}
	return 0
}

func fromYAML(node ast.Node) (*value, *slip) {
	v := &value{line: node.GetToken().Position.Line}
	switch n := node.(type) {
	case *ast.NullNode, *ast.CommentGroupNode:
	case *ast.SequenceNode:
		v.kind = listed
		for _, item := range n.Values {
			one, bad := fromYAML(item)
			if bad != nil {
				return nil, bad
			}
			v.list = append(v.list, one)
		}
	case *ast.MappingNode:
		v.kind = tabled
		for _, p := range n.Values {
			one, bad := fromYAML(p.Value)
			if bad != nil {
				return nil, bad
			}
			key := p.Key.GetToken()
			v.pairs = append(v.pairs, pair{key.Value, key.Position.Line, one})
		}
		if len(v.pairs) > 0 {
			v.line = v.pairs[0].line // the token of a table is a colon somewhere in it
		}
	case *ast.LiteralNode:
		v.kind, v.text = plainly, strings.TrimSpace(n.Value.Value)
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		v.kind, v.text = plainly, strings.TrimSpace(node.GetToken().Value)
	default:
		return nil, &slip{v.line, "anchors, tags and references are not understood here", "write the value itself"}
	}
	return v, nil
}
