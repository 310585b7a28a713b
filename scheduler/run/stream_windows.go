package run

func (s *stream) reader() func() (*[chunkSize]byte, int, error) {
	return func() (*[chunkSize]byte, int, error) {
		chunk := chunks.Get().(*[chunkSize]byte)
		n, err := s.file.Read(chunk[:])
		return chunk, n, err
	}
}
