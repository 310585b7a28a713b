package browser

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/png"
	"os"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// Picture writes what can be seen of the page as a small PNG file.
func (p *Page) Picture(file string) {
	p.tb.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, stepLimit)
	defer cancel()
	got, err := chromedp.Call(ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatPng})
	if err != nil {
		p.tb.Fatal(err)
	}
	taken, err := png.Decode(bytes.NewReader(got.Data))
	if err != nil {
		p.tb.Fatal(err)
	}
	var small bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&small, indexed(taken)); err != nil {
		p.tb.Fatal(err)
	}
	if err := os.WriteFile(file, small.Bytes(), 0o644); err != nil {
		p.tb.Fatal(err)
	}
}

// maxColours is how many colours a picture may have. Pages have few, and many shades of
// them at the edges of letters, where nobody sees a difference.
const maxColours = 32

// indexed returns a picture of no more than maxColours colours. Each is the one of those
// left that weighs most: by how often it is there, and how far it is from those before it.
func indexed(from image.Image) *image.Paletted {
	count := map[color.RGBA]int{}
	b := from.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			count[color.RGBAModel.Convert(from.At(x, y)).(color.RGBA)]++
		}
	}
	var colours color.Palette
	away := map[color.RGBA]int{} // distance to the nearest of colours
	for c := range count {
		away[c] = 1
	}
	for range min(maxColours, len(count)) {
		var next color.RGBA
		most := 0
		for c, n := range count {
			if weight := n * away[c]; weight > most || weight == most && code(c) < code(next) {
				next, most = c, weight
			}
		}
		colours = append(colours, next)
		for c := range count {
			if d := distance(c, next); d < away[c] || len(colours) == 1 {
				away[c] = d
			}
		}
	}
	to := image.NewPaletted(b, colours)
	nearest := make(map[color.RGBA]uint8, len(count))
	for c := range count {
		nearest[c] = uint8(colours.Index(c)) //nolint:gosec // a palette has at most 256 colours
	}
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			to.SetColorIndex(x, y, nearest[color.RGBAModel.Convert(from.At(x, y)).(color.RGBA)])
		}
	}
	return to
}

// code gives colours an order.
func code(c color.RGBA) int { return int(c.R)<<16 | int(c.G)<<8 | int(c.B) }

// distance is the square of how far two colours are apart.
func distance(a, b color.RGBA) int {
	r, g, l := int(a.R)-int(b.R), int(a.G)-int(b.G), int(a.B)-int(b.B)
	return r*r + g*g + l*l
}
