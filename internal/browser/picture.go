package browser

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/color/palette"
	"image/png"
	"maps"
	"os"
	"slices"

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

// indexed returns a picture of no more than 32 colours: those that are there most often.
// Pages have few colours, and many shades of them at the edges of letters, where nobody
// sees a difference.
func indexed(from image.Image) *image.Paletted {
	count := map[color.RGBA]int{}
	b := from.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			count[color.RGBAModel.Convert(from.At(x, y)).(color.RGBA)]++
		}
	}
	often := slices.SortedFunc(maps.Keys(count), func(x, y color.RGBA) int {
		if count[x] != count[y] {
			return count[y] - count[x]
		}
		return int(x.R)<<16 + int(x.G)<<8 + int(x.B) - (int(y.R)<<16 + int(y.G)<<8 + int(y.B))
	})
	const most = 32
	var colours color.Palette
	for _, c := range often[:min(len(often), most)] {
		colours = append(colours, c)
	}
	if len(often) > most {
		// The rarest of them give way to some from everywhere, so that each shade finds
		// one that is near.
		rare := spread()
		copy(colours[most-len(rare):], rare)
	}
	to := image.NewPaletted(b, colours)
	nearest := make(map[color.RGBA]uint8, len(count))
	for c := range count {
		nearest[c] = uint8(colours.Index(c))
	}
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			to.SetColorIndex(x, y, nearest[color.RGBAModel.Convert(from.At(x, y)).(color.RGBA)])
		}
	}
	return to
}

// spread returns some colours from everywhere.
func spread() color.Palette {
	var some color.Palette
	for i := 0; i < len(palette.Plan9); i += 32 {
		some = append(some, palette.Plan9[i])
	}
	return some
}
