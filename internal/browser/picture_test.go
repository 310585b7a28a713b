package browser

import (
	"image"
	"image/color"
	"testing"
)

// A picture keeps its few colours as they are; of many shades it keeps those that are far
// from each other, however rare they are.
func TestIndexed(t *testing.T) {
	few := image.NewRGBA(image.Rect(0, 0, 10, 10))
	few.SetRGBA(3, 4, color.RGBA{200, 0, 0, 255})
	got := indexed(few)
	if len(got.Palette) != 2 || got.At(3, 4) != (color.RGBA{200, 0, 0, 255}) || got.At(0, 0) != (color.RGBA{}) {
		t.Errorf("%d colours, %v, %v", len(got.Palette), got.At(3, 4), got.At(0, 0))
	}
	many := image.NewRGBA(image.Rect(0, 0, 256, 256))
	for y := range 256 {
		for x := range 256 {
			many.SetRGBA(x, y, color.RGBA{uint8(x), uint8(x), uint8(x), 255})
		}
	}
	blue := color.RGBA{111, 177, 255, 255}
	for x := range 40 {
		many.SetRGBA(x, 100, blue)
	}
	got = indexed(many)
	if len(got.Palette) != maxColours || got.At(5, 100) != blue {
		t.Errorf("%d colours, %v", len(got.Palette), got.At(5, 100))
	}
	for x := range 256 {
		c := color.RGBAModel.Convert(got.At(x, 0)).(color.RGBA)
		if distance(c, color.RGBA{uint8(x), uint8(x), uint8(x), 255}) > 3*12*12 {
			t.Errorf("the shade %d became %v", x, c)
		}
	}
}
