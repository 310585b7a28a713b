package main

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// check returns an error that lists the links of all pages that lead nowhere.
func (s *site) check() error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(s.pages)) {
		p := s.pages[name]
		for _, link := range p.links {
			if err := s.follow(p, link); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", p.source, err))
			}
		}
	}
	return errors.Join(errs...)
}

func (s *site) follow(p *page, link string) error {
	file, anchor, found := strings.Cut(link, "#")
	to := p.path
	if file != "" {
		to = path.Join(path.Dir(p.path), file)
	}
	if s.files[to] == nil {
		return fmt.Errorf("a link to %s, and there is no such page", link)
	}
	if !found {
		return nil
	}
	if other := s.pages[to]; other == nil || !other.anchors[anchor] {
		return fmt.Errorf("a link to %s, and there is no such section", link)
	}
	return nil
}
