package parse

// element is what an element's name means to us.
type element struct {
	name      string
	flow      flow
	text      textKind // of what stands in it
	nav       attrSet  // the attributes that are of use on any page
	requisite attrSet  // and those that only make requisites
}

// flow is how an element's edges part the text round it.
type flow uint8

const (
	inline flow = iota
	cell        // they end a word
	block       // they end a line
)

// textKind is how a piece of a page is to be read.
type textKind uint8

const (
	markupText    textKind = iota // between tags
	escapableText                 // tags are no tags, but references to characters count
	rawText                       // neither counts
	scriptText                    // neither counts, and comments hide end tags
	lastText                      // neither counts, up to the end of the page
	valueText                     // an attribute's value
)

// elements are the elements that mean something to us beyond the way they part
// the text.
var elements = []element{
	{name: "a", nav: set(href, rel, xlink)},
	{name: "area", nav: set(alt, href, rel, xlink)},
	{name: "audio", flow: cell, requisite: set(src, poster, srcset)},
	{name: "base", nav: set(href)},
	{name: "bgsound", requisite: set(src, poster, srcset)},
	{name: "body", flow: block, requisite: set(background)},
	{name: "embed", requisite: set(src, poster, srcset)},
	{name: "feimage", requisite: set(href, xlink)},
	{name: "frame", nav: set(src)},
	{name: "iframe", flow: cell, text: rawText, nav: set(src)},
	{name: "image", requisite: set(href, src, xlink)},
	{name: "img", flow: cell, nav: set(alt), requisite: set(src, poster, srcset)},
	{name: "input", flow: cell, requisite: set(kind, src)},
	{name: "link", nav: set(href, hreflang, kind, rel), requisite: set(imageSrcset)},
	{name: "meta", nav: set(content, httpEquiv, metaName, property)},
	{name: "noembed", text: rawText},
	{name: "noframes", text: rawText},
	{name: "noscript"},
	{name: "object", flow: cell, requisite: set(data)},
	{name: "plaintext", flow: block, text: lastText},
	{name: "script", text: scriptText, requisite: set(src, poster, srcset)},
	{name: "source", requisite: set(src, poster, srcset)},
	{name: "style", text: rawText},
	{name: "svg", flow: cell},
	{name: "table", flow: block, requisite: set(background)},
	{name: "td", flow: cell, requisite: set(background)},
	{name: "template", nav: set(shadowRoot)},
	{name: "textarea", flow: cell, text: escapableText},
	{name: "th", flow: cell, requisite: set(background)},
	{name: "title", flow: cell, text: escapableText},
	{name: "tr", flow: block, requisite: set(background)},
	{name: "track", requisite: set(src, poster, srcset)},
	{name: "use", requisite: set(href, xlink)},
	{name: "video", flow: cell, requisite: set(src, poster, srcset)},
	{name: "xmp", flow: block, text: rawText},
}

// blocks and cells only part the text.
var blocks = []string{
	"address", "article", "aside", "blockquote", "br", "caption", "center", "dd", "details", "dialog",
	"dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3",
	"h4", "h5", "h6", "head", "header", "hgroup", "hr", "html", "legend", "li", "main", "menu", "nav",
	"ol", "p", "pre", "section", "summary", "tbody", "tfoot", "thead", "ul",
}

var cells = []string{"option", "optgroup", "select", "button"}

// other is any other element.
var other element

// byName is a hash table of all named elements: few enough that a free slot is
// never far.
var byName = func() (t [256]*element) {
	add := func(e element) {
		var h nameHash
		for _, c := range []byte(e.name) {
			h = h.add(c)
		}
		i := h.slot()
		for t[i] != nil {
			i++
		}
		t[i] = &e
	}
	for _, e := range elements {
		add(e)
	}
	for _, name := range blocks {
		add(element{name: name, flow: block})
	}
	for _, name := range cells {
		add(element{name: name, flow: cell})
	}
	return t
}()

// nameHash is the hash of a name, the same for capitals and small letters.
type nameHash uint32

func (h nameHash) add(c byte) nameHash { return h*31 + nameHash(c|0x20) }

func (h nameHash) slot() uint8 { return uint8(h ^ h>>8) }

// elementOf finds an element by its name, in whatever case, and that name's hash.
func elementOf(name []byte, h nameHash) *element {
	for i := h.slot(); byName[i] != nil; i++ {
		if is(name, byName[i].name) {
			return byName[i]
		}
	}
	return &other
}
