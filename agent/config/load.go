package config

import (
	"path/filepath"
	"slices"
	"time"

	"github.com/yacron2/yacron2/scheduler"
)

// Sources says where the configuration comes from.
type Sources struct {
	// Files are read in order, then Dirs. A directory is not read recursively; in it,
	// only names that tell their language are read (see the package's front ends),
	// and names that begin with _ or . are left to includes.
	Files []string
	Dirs  []string
	// Inline are texts that are no files; they are read before all others.
	Inline []Inline

	// Explain fills Config.Explanation, at the price of memory.
	Explain bool

	// CheckTemplate compiles a report's template, so that a syntax error is found at
	// load; nil leaves templates unchecked.
	CheckTemplate func(text string) error

	// Known is what earlier calls have learnt, and learns from this one; nil reads
	// everything from scratch.
	Known *Known

	// Host answers questions about this machine; nil is the machine itself.
	Host Host
}

// Inline is a configuration in memory. Name is what errors call it; its ending says
// the language, as that of a file does.
type Inline struct{ Name, Text string }

// DefaultStartingDeadline is how late a firing may start unless configured.
const DefaultStartingDeadline = 30 * time.Second

// Load reads, merges and validates a whole configuration. Config is nil if and only
// if the diagnostics have errors.
func Load(sources Sources) (*Config, Diagnostics) {
	l := newLoader(sources)
	var files []*file
	for _, in := range sources.Inline {
		files = append(files, l.read(&source{name: in.Name, path: in.Name, text: []byte(in.Text), dialect: languageOf(in.Name, []byte(in.Text))}))
	}
	for _, path := range sources.Files {
		files = append(files, l.named(path))
	}
	for _, dir := range sources.Dirs {
		files = append(files, l.directory(dir)...)
	}
	if sources.Known != nil {
		sources.Known.forget(l.files)
	}
	cfg := l.assemble(files)
	diagnostics := l.out.result(l.clusterAt)
	if diagnostics.HasErrors() {
		return nil, diagnostics
	}
	return cfg, diagnostics
}

// loader is the state of one Load.
type loader struct {
	sources Sources
	host    Host
	out     *collector
	files   map[string]*file // by absolute path; nil while being read
	chain   []*source        // the files being read, outermost first
	watched map[string]bool  // what ends up in Config.Files

	zones     map[string]zone
	envFiles  map[string]envFile
	users     map[string]account
	groups    map[string]group
	modes     map[string]fileMode
	templates map[string]error
	schedules map[scheduleKey]*scheduler.Schedule
	local     *zone // of jobs with utc: false; nil until asked
	electing  bool  // the cluster section has election on
	now       time.Time

	startingDeadline time.Duration // of the whole file set
	clusterAt        pos           // of the key cluster
}

func newLoader(sources Sources) *loader {
	l := &loader{
		sources:   sources,
		host:      sources.Host,
		out:       &collector{},
		files:     map[string]*file{},
		watched:   map[string]bool{},
		zones:     map[string]zone{},
		envFiles:  map[string]envFile{},
		users:     map[string]account{},
		groups:    map[string]group{},
		modes:     map[string]fileMode{},
		templates: map[string]error{},
		schedules: map[scheduleKey]*scheduler.Schedule{},
	}
	if l.host == nil {
		l.host = System{}
	}
	l.now = l.host.Now()
	return l
}

func (l *loader) fail(at pos, key, message, hint string) {
	l.out.add(at, Diagnostic{Severity: Error, Key: key, Message: message, Hint: hint})
}

func (l *loader) warn(at pos, key, message, hint string) {
	l.out.add(at, Diagnostic{Severity: Warning, Key: key, Message: message, Hint: hint})
}

// failFile reports a problem of a file as a whole, or of a path that is none.
func (l *loader) failFile(path, message, hint string) {
	l.out.add(pos{}, Diagnostic{Severity: Error, File: path, Message: message, Hint: hint})
}

// spell returns a key as the file of a node spells it.
func spell(n *node, key string) string {
	if n != nil && n.src != nil && n.src.dialect == hclDialect {
		return snakeCase(key)
	}
	return key
}

// watch remembers a path whose change can change the result.
func (l *loader) watch(path string) {
	if abs, err := filepath.Abs(path); err == nil {
		l.watched[abs] = true
	}
}

// section is a top-level key of the whole configuration, wherever it stands.
type section struct {
	node *node
	at   pos
}

// assemble turns everything that was read into the configuration.
func (l *loader) assemble(roots []*file) *Config {
	var jobs []rawJob
	sections := map[string]section{}
	done := map[*file]bool{}
	var visit func(f *file)
	visit = func(f *file) {
		if f == nil || done[f] {
			return
		}
		done[f] = true
		for _, inc := range f.includes {
			visit(inc)
		}
		jobs = append(jobs, f.jobs...)
		for _, e := range f.sections {
			if first, ok := sections[e.key]; ok {
				l.fail(e.pos, e.key, "a second "+spell(e.value, e.key)+" in one configuration, the first one is in "+place(first.at),
					"keep one of the two")
				continue
			}
			sections[e.key] = section{e.value, e.pos}
		}
	}
	for _, f := range roots {
		visit(f)
	}

	cfg := &Config{Logging: Logging{Level: "info", Format: "text", Stream: "stderr"}}
	l.settings(cfg, sections)
	cluster := l.cluster(sections["cluster"].node)
	l.startingDeadline = cfg.StartingDeadline
	l.electing = cluster != nil && cluster.ElectLeader
	cfg.Jobs = l.jobs(jobs)
	cfg.Web = l.web(sections["web"].node)
	cfg.Cluster = cluster
	l.clusterAt = sections["cluster"].at
	l.leaseRoom(cluster, cfg.Jobs)
	for path := range l.watched {
		cfg.Files = append(cfg.Files, path)
	}
	slices.Sort(cfg.Files)
	if l.out.list.HasErrors() {
		return nil
	}
	cfg.JobSetID = JobSetID(cfg.Jobs)
	if l.sources.Explain {
		cfg.Explanation = &Explanation{Settings: explainSettings(sections, cluster)}
		for i := range jobs {
			all := merged(jobs[i].defaults, jobs[i].node, jobKeys)
			cfg.Explanation.Jobs = append(cfg.Explanation.Jobs, explainJob(cfg.Jobs[i].Name, all, sections["startingDeadline"].node))
		}
	}
	return cfg
}

// place renders a position for messages.
func place(at pos) string {
	d := Diagnostic{Line: int(at.line)}
	if at.src != nil {
		d.File = at.src.name
	}
	return d.Position()
}

// settings reads the scalar keys of the top level.
func (l *loader) settings(cfg *Config, sections map[string]section) {
	cfg.StartingDeadline = DefaultStartingDeadline
	if n := sections["startingDeadline"].node; n != nil {
		cfg.StartingDeadline = l.deadline(n, "")
	}
	if n := sections["shutdownTimeout"].node; n != nil {
		if s, ok := parseFloat(n.text); ok {
			if !(s > 0) {
				l.fail(n.pos, "shutdownTimeout", spell(n, "shutdownTimeout")+" must be above 0 seconds, not "+quote(n.text),
					"leave it out to wait as long as jobs run")
			}
			cfg.ShutdownTimeout = seconds(s)
		}
	}
	if n := sections["dataDir"].node; n != nil {
		cfg.DataDir = n.text
	}
	l.logging(cfg, sections)
}

// deadline reads a startingDeadline.
func (l *loader) deadline(n *node, job string) time.Duration {
	s, ok := parseFloat(n.text)
	if !ok {
		return DefaultStartingDeadline
	}
	if !(s >= 0 && s <= 300) {
		l.out.add(n.pos, Diagnostic{Severity: Error, Job: job, Key: "startingDeadline",
			Message: spell(n, "startingDeadline") + " must be 0 (never late) to 300 seconds, not " + quote(n.text)})
	}
	return seconds(s)
}
