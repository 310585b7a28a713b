package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path"
	"path/filepath"
	"time"
)

// file is one file of an archive.
type file struct {
	name    string // with slashes
	content []byte
	mode    int64
}

// archive writes the archive of a target: all files in one folder, which is named like it.
func (r *release) archive(t target, program string, common []file) error {
	content, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	folder := "yacron2_" + r.version + "_" + t.name()
	files := []file{{name: path.Join(folder, t.program()), content: content, mode: 0o755}}
	for _, f := range common {
		f.name = path.Join(folder, f.name)
		files = append(files, f)
	}
	pack, ending := tarball, ".tar.gz"
	if t.os == "windows" {
		pack, ending = zipped, ".zip"
	}
	packed, err := pack(files, r.time)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, folder+ending), packed, 0o644)
}

// tarball packs files as of one time, of nobody in particular.
func tarball(files []file, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(z)
	for _, f := range files {
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: f.name, Size: int64(len(f.content)), Mode: f.mode, ModTime: at, Format: tar.FormatUSTAR,
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	err = errors.Join(w.Close(), z.Close())
	return b.Bytes(), err
}

func zipped(files []file, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range files {
		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at}
		header.SetMode(os.FileMode(f.mode)) //nolint:gosec // one of two constants
		w, err := z.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	err := z.Close()
	return b.Bytes(), err
}
