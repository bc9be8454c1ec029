// Package parse decides what a fetched body says: which links a page holds and
// what each is for, its title, text, charset and canonical address, what it
// asks of crawlers; and which addresses a sitemap or feed lists.
//
// Everything here comes from strangers. Nothing they write is an error: a body
// that breaks every rule yields what a browser would have seen of it, in time
// and memory linear in its size, within the bounds below. Reading ends with the
// first of: the end of the body, [MaxLinks] links, [MaxText] text and so on;
// each bound leaves the rest out and keeps what came before.
//
// # What is a link
//
// A link is navigation when a reader could follow it, and a requisite when the
// page needs it to be shown:
//
//	nav         a, area @href; iframe, frame @src; meta refresh; svg a @xlink:href
//	            link @href where rel names a page beside this one (next, prev,
//	            contents, help, alternate, ...) and type, if any, says HTML
//	requisite   every other link @href, also without a rel; img, script, source,
//	            video, audio, track, embed, input type=image @src; @srcset,
//	            @imagesrcset, @poster; object @data; legacy @background; svg
//	            image, use, feImage
//	neither     form @action, @cite, @longdesc, @ping, iframe @srcdoc, link rel
//	            canonical, preconnect, dns-prefetch, pingback
//
// Scripts are not run. Styles are not read, in sheets, elements or attributes,
// so what only they name (fonts, @import, background images) is not found; nor
// are comments, conditional ones too. The content of noscript counts, for a
// crawler runs no scripts. The content of template does not, for a browser would
// not show it, unless it is a declarative shadow root. References to a part of
// the page itself (#top) are no links.
//
// A link counts once a page and kind, at its first place. It is NoFollow when
// every reference to it is: rel=nofollow is obeyed, rel=ugc and rel=sponsored
// only say what a link is and do not hold a crawler back.
//
// A base element holds from where it stands; the first with an http or https
// address wins.
package parse

// Bounds on what one body may yield.
const (
	MaxLinks        = 50_000  // targets of links of a page
	MaxTranslations = 1_000   // of a page
	MaxTitle        = 1 << 10 // bytes
	MaxAnchor       = 256     // bytes of one link's text
	MaxText         = 1 << 20 // bytes of a page's text
	MaxRel          = 128     // bytes of one link's rel
	MaxMetas        = 200     // meta elements of a page
	MaxMeta         = 2 << 10 // bytes of what one says
	MaxWords        = 10_000  // terms of a page
	MaxTerm         = 40      // characters of one

	MaxEntries = 50_000   // of one sitemap, as its protocol has it
	MaxSitemap = 50 << 20 // bytes of one sitemap, decompressed
	MaxLastMod = 64       // bytes
)

// maxRepeats bounds the links of a page to what it links to already. Those beyond
// count as the first.
const maxRepeats = 10_000

// maxWork bounds the bytes that are given to the URL parser for one body, base
// included, so that a long base under many links costs no more than a second.
const maxWork = 8 << 20
