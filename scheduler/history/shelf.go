package history

import "container/list"

// shelf keeps records by job, oldest first, within a limit for each job and one for
// all. When there are too many in all, the job that has the most loses its oldest, so
// that a job which runs every second does not push out one which runs once a month.
type shelf[T any] struct {
	perJob, total int

	count int
	racks map[string]*rack[T]

	// bySize[n] lists the racks with n records, the one changed longest ago first.
	// It makes finding the fullest cheap.
	bySize []list.List
}

// rack holds the records of one job.
type rack[T any] struct {
	job   string
	items []T
	at    *list.Element // in bySize[size]
	size  int
}

func newShelf[T any](perJob, total int) *shelf[T] {
	perJob, total = max(1, perJob), max(1, total)
	return &shelf[T]{
		perJob: perJob,
		total:  total,
		racks:  make(map[string]*rack[T]),
		bySize: make([]list.List, perJob+2),
	}
}

// add puts a record at the end of its job's and calls gone with those that it
// displaced.
func (s *shelf[T]) add(job string, item T, gone func(T)) {
	r := s.racks[job]
	if r == nil {
		r = &rack[T]{job: job}
		s.racks[job] = r
	}
	r.items = append(r.items, item)
	s.count++
	s.place(r)
	if len(r.items) > s.perJob {
		gone(s.dropOldest(r))
	}
	for s.count > s.total {
		gone(s.dropOldest(s.fullest()))
	}
}

// place puts a rack into the list of its size.
func (s *shelf[T]) place(r *rack[T]) {
	if r.at != nil {
		s.bySize[r.size].Remove(r.at)
		r.at = nil
	}
	if r.size = len(r.items); r.size > 0 {
		r.at = s.bySize[r.size].PushBack(r)
	}
}

func (s *shelf[T]) fullest() *rack[T] {
	for n := len(s.bySize) - 1; n > 0; n-- {
		if e := s.bySize[n].Front(); e != nil {
			return e.Value.(*rack[T])
		}
	}
	return nil
}

// dropOldest removes the first record of a rack, and the rack with its last one.
func (s *shelf[T]) dropOldest(r *rack[T]) T {
	item := r.items[0]
	n := copy(r.items, r.items[1:])
	clear(r.items[n:])
	r.items = r.items[:n]
	s.count--
	s.place(r)
	if n == 0 {
		delete(s.racks, r.job)
	}
	return item
}

// expire drops the oldest records of every job for which old holds.
func (s *shelf[T]) expire(old func(T) bool, gone func(T)) {
	for _, r := range s.racks {
		for len(r.items) > 0 && old(r.items[0]) {
			gone(s.dropOldest(r))
		}
	}
}

// last returns the last n records of a job, oldest first; the slice is not a copy.
func (s *shelf[T]) last(job string, n int) []T {
	r := s.racks[job]
	if r == nil || n <= 0 {
		return nil
	}
	return r.items[max(0, len(r.items)-n):]
}
