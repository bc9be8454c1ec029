package parse

// What a link element is for.
const (
	relRequisite = iota
	relNav
	relCanonical
	relNothing
)

// relRole decides by the words of rel, and for pages beside this one also by
// the type: rel=search leads to a page, or to a description for the browser's
// search box. A link with no rel, or one we do not know, is taken for a requisite.
func relRole(rel, kind []byte) int {
	role := relRequisite
	for len(rel) > 0 {
		var w []byte
		w, rel = nextWord(rel)
		var short [shortName]byte
		switch string(lowered(&short, w)) {
		case "stylesheet", "icon", "manifest":
			return relRequisite // also "alternate stylesheet"
		case "canonical":
			return relCanonical
		case "preconnect", "dns-prefetch", "pingback", "webmention", "profile", "shortlink":
			role = relNothing // a host, a service or another name: nothing to get
		case "alternate", "amphtml", "appendix", "archives", "author", "begin", "bookmark", "chapter",
			"child", "contents", "copyright", "end", "first", "glossary", "help", "home", "index",
			"last", "license", "next", "parent", "prev", "previous", "privacy-policy", "search",
			"section", "sibling", "start", "subsection", "summary", "terms-of-service",
			"toc", "top", "up":
			if role != relNothing && (len(kind) == 0 || htmlType(media(string(kind)))) {
				role = relNav
			}
		}
	}
	return role
}

// nextWord splits a list of words at its spaces.
func nextWord(s []byte) (word, rest []byte) {
	for len(s) > 0 && isSpace(s[0]) {
		s = s[1:]
	}
	for i, c := range s {
		if isSpace(c) {
			return s[:i], s[i:]
		}
	}
	return s, nil
}

// hasWord looks for a word, given in lower case, in a list.
func hasWord(list []byte, want string) bool {
	for len(list) > 0 {
		var w []byte
		if w, list = nextWord(list); is(w, want) {
			return true
		}
	}
	return false
}
