package run

// lineRing keeps the newest lines, at most maxLines of them and at most maxBytes in
// all (but the newest line always, whatever its length). The text lies in one
// circular buffer, so that a flood of lines costs a copy each and no allocation.
type lineRing struct {
	maxLines, maxBytes int

	// buf holds byte number v of everything ever pushed at v % len(buf), for
	// begin <= v < end.
	buf        []byte
	begin, end int64

	// lines is circular as well: count entries starting at first.
	lines        []ringLine
	first, count int
}

type ringLine struct {
	size int
	tag  uint8
}

// push appends a line and returns how many old ones it displaced.
func (r *lineRing) push(text []byte, tag uint8) (evicted int) {
	for r.count > 0 && (r.count >= r.maxLines || r.used()+len(text) > r.maxBytes) {
		r.drop()
		evicted++
	}
	if r.count == len(r.lines) {
		r.growLines()
	}
	if need := r.used() + len(text); need > len(r.buf) {
		r.resize(max(need, min(2*len(r.buf), r.maxBytes), min(256, r.maxBytes)))
	}
	r.put(text)
	r.lines[(r.first+r.count)%len(r.lines)] = ringLine{size: len(text), tag: tag}
	r.count++
	return evicted
}

func (r *lineRing) used() int { return int(r.end - r.begin) }

func (r *lineRing) drop() {
	r.begin += int64(r.lines[r.first].size)
	r.first = (r.first + 1) % len(r.lines)
	r.count--
}

func (r *lineRing) put(text []byte) {
	if len(text) == 0 {
		return
	}
	at := int(r.end % int64(len(r.buf)))
	n := copy(r.buf[at:], text)
	copy(r.buf, text[n:])
	r.end += int64(len(text))
}

func (r *lineRing) growLines() {
	next := make([]ringLine, max(16, min(2*r.count, r.maxLines), r.count+1))
	for i := range r.count {
		next[i] = r.lines[(r.first+i)%len(r.lines)]
	}
	r.lines, r.first = next, 0
}

// resize moves the text into a buffer of n bytes, n >= used.
func (r *lineRing) resize(n int) {
	old := r.appendBytes(make([]byte, 0, r.used()), r.begin, r.used())
	r.buf, r.begin, r.end = make([]byte, n), 0, 0
	r.put(old)
}

// compact gives back the memory that the present lines do not need.
func (r *lineRing) compact() {
	if r.used() < len(r.buf) {
		r.resize(r.used())
	}
	if r.count < len(r.lines) {
		next := make([]ringLine, r.count)
		for i := range next {
			next[i] = r.lines[(r.first+i)%len(r.lines)]
		}
		r.lines, r.first = next, 0
	}
}

func (r *lineRing) appendBytes(dst []byte, from int64, n int) []byte {
	if n == 0 {
		return dst
	}
	at := int(from % int64(len(r.buf)))
	head := min(n, len(r.buf)-at)
	dst = append(dst, r.buf[at:at+head]...)
	return append(dst, r.buf[:n-head]...)
}

// each calls yield with the lines from index from on, oldest first, until it
// returns false. The text is valid during the call only.
func (r *lineRing) each(from int, yield func(text []byte, tag uint8) bool) {
	at := r.begin
	var scratch []byte
	for i := range r.count {
		line := r.lines[(r.first+i)%len(r.lines)]
		if i >= from {
			scratch = r.appendBytes(scratch[:0], at, line.size)
			if !yield(scratch, line.tag) {
				return
			}
		}
		at += int64(line.size)
	}
}
