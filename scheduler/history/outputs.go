package history

import "container/list"

// outputs keeps the last lines of runs within a limit of bytes, the newest ones.
type outputs struct {
	limit int
	size  int
	byID  map[string]*list.Element // of *output
	order list.List                // oldest first
}

type output struct {
	id    string
	lines []Line
	size  int
}

func (o *outputs) add(id string, lines []Line) {
	o.drop(id)
	size := 0
	for _, l := range lines {
		size += len(l.Text) + 32 // the line's own bookkeeping
	}
	o.byID[id] = o.order.PushBack(&output{id: id, lines: lines, size: size})
	o.size += size
	for o.size > o.limit && o.order.Len() > 0 {
		o.drop(o.order.Front().Value.(*output).id)
	}
}

func (o *outputs) drop(id string) {
	e := o.byID[id]
	if e == nil {
		return
	}
	o.size -= e.Value.(*output).size
	o.order.Remove(e)
	delete(o.byID, id)
}

func (o *outputs) get(id string) []Line {
	e := o.byID[id]
	if e == nil {
		return nil
	}
	return e.Value.(*output).lines
}
