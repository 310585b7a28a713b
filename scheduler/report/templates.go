package report

import "sync"

// maxTemplates bounds the compiled templates that are kept.
const maxTemplates = 1000

// templates keeps compiled templates by their text.
type templates struct {
	mu     sync.Mutex
	byText map[string]*Template
}

func (t *templates) get(text string) (*Template, error) {
	t.mu.Lock()
	compiled := t.byText[text]
	t.mu.Unlock()
	if compiled != nil {
		return compiled, nil
	}
	compiled, err := Compile(text)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byText == nil || len(t.byText) >= maxTemplates {
		t.byText = make(map[string]*Template)
	}
	t.byText[text] = compiled
	return compiled, nil
}
