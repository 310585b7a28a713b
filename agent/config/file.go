package config

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// file is one file that was read, with what it includes.
type file struct {
	src      *source
	includes []*file
	defaults *node // inherited and own ones; nil if there are none
	jobs     []rawJob
	sections []entry // top-level keys of the whole configuration
}

// rawJob is one job as written, with the defaults that apply to it.
type rawJob struct {
	node     *node
	defaults *node
	sound    bool // the form of node was checked without an error
}

// directory reads the files of one directory, by name.
func (l *loader) directory(dir string) []*file {
	l.watch(dir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		l.failFile(dir, "cannot read this directory: "+reason(err), "")
		return nil
	}
	var files []*file
	for _, e := range entries { // sorted by ReadDir
		name := e.Name()
		if strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".") {
			continue
		}
		if !isMember(name) {
			if lower := strings.ToLower(name); lower != name && isMember(lower) {
				l.out.add(pos{}, Diagnostic{Severity: Warning, File: filepath.Join(dir, name), Message: "this file is not read: the ending must be in lower case"})
			}
			l.unreadCrontab(filepath.Join(dir, name))
			continue
		}
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			l.failFile(path, "this is a directory with the name of a configuration file",
				"directories are not read recursively: rename it, or name it on the command line")
			continue
		}
		files = append(files, l.open(path, readFile))
	}
	return files
}

// unreadCrontab warns of a file as it comes from /etc/cron.d, whose name says nothing.
func (l *loader) unreadCrontab(path string) {
	const most = 64 << 10
	if filepath.Ext(path) != "" {
		return
	}
	if info, err := os.Stat(path); err != nil || info.Size() > most {
		return
	}
	if text, err := readFile(path); err == nil && hasEntries(text) {
		l.out.add(pos{}, Diagnostic{Severity: Warning, File: path, Message: "this file looks like a crontab, and is not read", Hint: "let its name end in .crontab"})
	}
}

// isMember reports whether a file of a directory is read. Case matters for YAML, as
// it always did, but not for crontabs.
func isMember(name string) bool {
	switch filepath.Ext(name) {
	case ".yml", ".yaml", ".hcl":
		return true
	}
	return isCrontabName(name)
}

func isCrontabName(name string) bool {
	lower := strings.ToLower(name)
	return lower == "crontab" || strings.HasSuffix(lower, ".crontab") || strings.HasSuffix(lower, ".cron")
}

// languageOf chooses the front end of a file by its name, else by what its first
// line that says anything looks like.
func languageOf(name string, text []byte) dialect {
	if isCrontabName(name) {
		return crontabDialect
	}
	switch strings.ToLower(filepath.Ext(name)) {
	case ".yml", ".yaml":
		return yamlDialect
	case ".hcl":
		return hclDialect
	}
	if looksLikeCrontab(text) {
		return crontabDialect
	}
	return yamlDialect
}

// named reads a file that somebody has named, which may be a pipe from another program.
func (l *loader) named(name string) *file {
	if info, err := os.Stat(name); err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
		l.out.add(pos{}, Diagnostic{Severity: Warning, File: name,
			Message: "this is a pipe: it can be read once, and is empty for whoever reads the configuration again"})
	}
	return l.open(name, readAny)
}

// open reads one file and everything it includes. It returns nil after an error that
// left nothing to go on with.
func (l *loader) open(name string, read func(path string) ([]byte, error)) *file {
	path, err := filepath.Abs(name)
	if err != nil {
		l.failFile(name, reason(err), "")
		return nil
	}
	if f, ok := l.files[path]; ok {
		return f
	}
	l.watch(path)
	text, err := read(path)
	if err != nil {
		l.failFile(name, "cannot read this file: "+reason(err), "")
		l.files[path] = nil
		return nil
	}
	src := &source{name: name, path: path, text: text, dialect: languageOf(filepath.Base(name), text)}
	return l.read(src)
}

// readFile reads a regular file (or what a link leads to) of bounded size: opening a
// pipe could take for ever.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.IsDir() && !info.Mode().IsRegular():
		return nil, errors.New("it is a pipe, a socket or a device")
	}
	return readAny(path)
}

// readAny reads whatever can be read, up to the bound.
func readAny(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, errors.New("it is a directory")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// Large files would otherwise be copied again and again while they are read.
	text := bytes.NewBuffer(make([]byte, 0, min(info.Size(), maxFileSize)+bytes.MinRead))
	_, err = text.ReadFrom(io.LimitReader(f, maxFileSize+1))
	return text.Bytes(), err
}

// reason is the cause of a file error without the path, which stands before it.
func reason(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// read parses and checks one source and follows its includes.
func (l *loader) read(src *source) *file {
	l.chain = append(l.chain, src)
	defer func() { l.chain = l.chain[:len(l.chain)-1] }()

	var root *node
	var problems []problem
	switch src.dialect {
	case hclDialect:
		root, problems = parseHCL(src)
	case crontabDialect:
		root, problems = l.parseCrontab(src)
	default:
		root, problems = l.yaml(src)
	}
	f := &file{src: src}
	l.files[src.path] = f
	for _, p := range problems {
		l.out.add(p.at, Diagnostic{Severity: Error, Message: p.message, Hint: p.hint, hidden: p.hide, strict: true})
	}
	if root == nil {
		return f
	}
	if root.kind != mapping {
		if len(problems) == 0 {
			hint := ""
			if root.kind == scalar && len(strings.Fields(root.text)) >= 6 {
				hint = "if this is a crontab, let its name end in .crontab or .cron"
			}
			l.fail(root.pos, "", "the file must be a mapping with keys like jobs, not "+describe(root), hint)
		}
		return f
	}
	l.fill(f, root)
	return f
}

func describe(n *node) string {
	switch n.kind {
	case list:
		return "a list"
	case mapping:
		return "a mapping"
	}
	return "the text " + quote(n.text)
}

// fill checks the keys of a file, follows its includes and gathers what it defines.
func (l *loader) fill(f *file, root *node) {
	c := &checker{out: l.out, src: f.src}
	var own *node
	var jobs []rawJob
	for i := range root.entries {
		e := &root.entries[i]
		k := fileKeys.key(e.key)
		c.path = append(c.path[:0], step{key: e.key, index: -1})
		switch {
		case k == nil && strings.HasPrefix(e.key, "x-"):
			// An extension: a place for anchors.
		case k == nil:
			c.unknown(e, fileKeys)
		case e.key == "jobs":
			jobs = l.checkJobs(c, e.value, k)
		case e.key == "include":
			if c.check(e.value, k) {
				l.include(f, e.value)
			}
		case e.key == "defaults":
			c.check(e.value, k)
			own = e.value
		default:
			// What has a wrong form is passed over by the readers of the sections,
			// so that the rules for the rest are still checked.
			c.check(e.value, k)
			f.sections = append(f.sections, *e)
		}
	}
	if len(jobs) > 0 {
		l.noteKept(f, root.get("include"), own)
	}
	var inherited *node
	for _, inc := range f.includes {
		if inc != nil {
			inherited = merged(inherited, inc.defaults, jobKeys)
		}
	}
	f.defaults = merged(inherited, own, jobKeys)
	for i := range jobs {
		if f.src.dialect != crontabDialect {
			jobs[i].defaults = f.defaults
		}
	}
	f.jobs = jobs
}

// checkJobs checks a list of jobs one by one, so that problems name the job.
func (l *loader) checkJobs(c *checker, n *node, k *field) []rawJob {
	if n.kind != list {
		c.mismatch(n, k)
		return nil
	}
	jobs := make([]rawJob, 0, len(n.items))
	for i, item := range n.items {
		c.path = append(c.path[:1], step{index: i})
		if name := item.get("name"); name != nil && name.kind == scalar {
			c.job = name.text
		}
		sound := c.check(item, k.elem)
		c.job = ""
		if item.kind == mapping {
			jobs = append(jobs, rawJob{node: item, sound: sound})
		}
	}
	c.path = c.path[:1]
	return jobs
}
