package parse

// attr is an attribute that means something to us.
type attr uint8

const (
	alt attr = iota
	background
	content
	data
	href
	hreflang
	httpEquiv
	imageSrcset
	kind // @type
	metaName
	permaLink // @isPermaLink of RSS
	poster
	property
	rel
	shadowRoot
	src
	srcset
	xlink
	attrCount
)

// attrs are the values of one tag: nil where an attribute is missing or empty.
type attrs [attrCount][]byte

// href is the address of an element that may be SVG's.
func (a *attrs) href() []byte {
	if a[href] != nil {
		return a[href]
	}
	return a[xlink]
}

// attrSet is a set of attributes.
type attrSet uint32

func set(attrs ...attr) attrSet {
	var s attrSet
	for _, a := range attrs {
		s |= 1 << a
	}
	return s
}

func (s attrSet) has(a attr) bool { return s>>a&1 != 0 }

// attrOf finds an attribute by its name, in whatever case.
func attrOf(name []byte) (attr, bool) {
	var short [shortName]byte
	switch string(lowered(&short, name)) {
	case "alt":
		return alt, true
	case "background":
		return background, true
	case "content":
		return content, true
	case "data":
		return data, true
	case "href":
		return href, true
	case "hreflang":
		return hreflang, true
	case "http-equiv":
		return httpEquiv, true
	case "imagesrcset":
		return imageSrcset, true
	case "ispermalink":
		return permaLink, true
	case "type":
		return kind, true
	case "name":
		return metaName, true
	case "poster":
		return poster, true
	case "property":
		return property, true
	case "rel":
		return rel, true
	case "shadowrootmode":
		return shadowRoot, true
	case "src":
		return src, true
	case "srcset":
		return srcset, true
	case "xlink:href":
		return xlink, true
	}
	return 0, false
}

// shortName is the length of the longest name or word that is looked for.
const shortName = 24

// lowered returns a short name in lower case, and nothing for a long one.
func lowered(short *[shortName]byte, name []byte) []byte {
	if len(name) > len(short) {
		return nil
	}
	for i, c := range name {
		short[i] = lower(c)
	}
	return short[:len(name)]
}
