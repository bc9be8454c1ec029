package chart

import (
	"image/color"
	"io"
	"math"
	"sync"
	"unicode/utf8"

	"codeberg.org/go-fonts/liberation/liberationsansbold"
	"codeberg.org/go-fonts/liberation/liberationsansregular"
	stdfont "golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
)

// WritePNG writes the chart as a PNG file, on light paper, with two pixels for
// one of SVG's.
func (c *Chart) WritePNG(w io.Writer) error { return writePNG(w, c, wide) }

// WritePNG writes the chart as a PNG file, on light paper, with two pixels for
// one of SVG's.
func (b *Bars) WritePNG(w io.Writer) error { return writePNG(w, b, wide) }

func writePNG(w io.Writer, d drawing, width float64) error {
	if err := d.check(); err != nil {
		return err
	}
	height := d.height(width)
	p := &png{
		Canvas: vgimg.NewWith(vgimg.UseWH(vg.Length(width), vg.Length(height)), vgimg.UseDPI(2*72)),
		height: height,
	}
	d.draw(p, width, height)
	_, err := vgimg.PngCanvas{Canvas: p.Canvas}.WriteTo(w)
	return err
}

// png is a canvas that paints an image. Its y runs upwards inside, and one
// point is one pixel of ours.
type png struct {
	*vgimg.Canvas
	height float64
}

func (p *png) at(x, y float64) vg.Point {
	return vg.Point{X: vg.Length(x), Y: vg.Length(p.height - y)}
}

func (p *png) use(c paint) {
	rgb := shades[c].light
	p.SetColor(color.RGBA{uint8(rgb >> 16), uint8(rgb >> 8), uint8(rgb), 255})
}

func (p *png) rect(x, y, w, h float64, c paint) {
	p.use(c)
	p.Fill(vg.Path{
		{Type: vg.MoveComp, Pos: p.at(x, y)},
		{Type: vg.LineComp, Pos: p.at(x+w, y)},
		{Type: vg.LineComp, Pos: p.at(x+w, y+h)},
		{Type: vg.LineComp, Pos: p.at(x, y+h)},
		{Type: vg.CloseComp},
	})
}

func (p *png) path(xy []float64, c paint, width float64, dashed bool) {
	p.use(c)
	p.SetLineWidth(vg.Length(width))
	p.SetLineDash(nil, 0)
	if dashed {
		p.SetLineDash([]vg.Length{6, 4}, 0)
	}
	path := make(vg.Path, 0, len(xy)/2)
	for i := 0; i+1 < len(xy); i += 2 {
		kind := vg.LineComp
		if i == 0 {
			kind = vg.MoveComp
		}
		path = append(path, vg.PathComp{Type: kind, Pos: p.at(xy[i], xy[i+1])})
	}
	p.Stroke(path)
}

func (p *png) dot(x, y, radius float64, c paint) {
	p.use(c)
	p.Fill(vg.Path{
		{Type: vg.MoveComp, Pos: p.at(x+radius, y)},
		{Type: vg.ArcComp, Pos: p.at(x, y), Radius: vg.Length(radius), Angle: 2 * math.Pi},
		{Type: vg.CloseComp},
	})
}

func (p *png) text(x, y float64, s string, f face, a anchor, c paint) {
	s = clean(s)
	switch a {
	case middle:
		x -= measure(s, f) / 2
	case right:
		x -= measure(s, f)
	}
	p.use(c)
	p.FillString(f.font(), p.at(x, y), s)
}

func (f face) font() font.Face {
	return font.Face{Font: font.Font{Typeface: "Liberation", Size: vg.Length(f.size)}, Face: f.letters().font}
}

// measure returns the width of a text. Readers of SVG may have other letters,
// of about this width.
func measure(s string, f face) float64 {
	l := f.letters()
	sum := 0.0
	for _, r := range s {
		if r < utf8.RuneSelf {
			sum += l.ascii[r]
		} else {
			sum += l.advance(r, &sfnt.Buffer{})
		}
	}
	return sum * f.size
}

// letters are a font with the widths of its letters at size 1.
type letters struct {
	font  *opentype.Font
	ascii [utf8.RuneSelf]float64
}

var (
	regular = sync.OnceValue(func() *letters { return newLetters(liberationsansregular.TTF) })
	bold    = sync.OnceValue(func() *letters { return newLetters(liberationsansbold.TTF) })
)

func (f face) letters() *letters {
	if f.bold {
		return bold()
	}
	return regular()
}

func newLetters(ttf []byte) *letters {
	f, err := opentype.Parse(ttf)
	if err != nil {
		panic("chart: the letters built into the program: " + err.Error())
	}
	l := &letters{font: f}
	var b sfnt.Buffer
	for r := range l.ascii {
		l.ascii[r] = l.advance(rune(r), &b)
	}
	return l
}

func (l *letters) advance(r rune, b *sfnt.Buffer) float64 {
	const size = 1000 // large, since widths come in 64ths
	i, err := l.font.GlyphIndex(b, r)
	if err != nil {
		return 0
	}
	w, err := l.font.GlyphAdvance(b, i, fixed.I(size), stdfont.HintingNone)
	if err != nil {
		return 0
	}
	return float64(w) / 64 / size
}
