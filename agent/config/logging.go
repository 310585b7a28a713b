package config

import (
	"strings"
)

// logging reads the short keys of the top level and the logging section, which is
// either our own small one or a Python dictConfig.
func (l *loader) logging(cfg *Config, sections map[string]section) {
	out := &cfg.Logging
	s := sections["logging"].node
	for _, short := range []struct {
		key, long string
		to        *string
	}{{"logLevel", "level", &out.Level}, {"logFormat", "format", &out.Format}} {
		n := sections[short.key].node
		if n == nil || n.kind != scalar {
			continue
		}
		*short.to = textOr(n, *short.to)
		if own := s.get(short.long); own != nil {
			l.fail(own.pos, "logging."+short.long, "logging."+short.long+" and "+spell(n, short.key)+" are both set, the other one is in "+place(n.pos),
				"keep one of the two")
		}
	}
	if s == nil || s.kind != mapping {
		return
	}
	if v := s.get("version"); v != nil {
		l.dictConfig(out, s, v, sections["logLevel"].node != nil)
		return
	}
	for _, key := range []string{"incremental", "disable_existing_loggers", "formatters", "filters", "handlers", "loggers", "root"} {
		if n := s.get(key); n != nil {
			l.warn(n.pos, "logging."+key, "logging."+key+" is part of a Python logging configuration and has no effect without version: 1", "use level, format, file and rotation")
		}
	}
	out.Level = textOr(s.get("level"), out.Level)
	out.Format = textOr(s.get("format"), out.Format)
	out.File = textOr(s.get("file"), "")
	out.Stream = textOr(s.get("stream"), out.Stream)
	if n := s.get("stream"); n != nil && out.File != "" {
		l.warn(n.pos, "logging.stream", "logging.stream has no effect beside logging.file", "keep one of the two")
	}
	l.rotation(out, s.get("rotation"))
}

func (l *loader) rotation(out *Logging, n *node) {
	if n == nil || n.kind != mapping {
		return
	}
	out.MaxFiles = 5
	if out.File == "" {
		l.warn(n.pos, "logging.rotation", "logging.rotation has no effect without logging.file", "")
	}
	if v, ok := intOf(n.get("maxSizeMB")); ok {
		if v < 1 || v > 1<<20 {
			l.fail(n.get("maxSizeMB").pos, "logging.rotation.maxSizeMB", spell(n, "maxSizeMB")+" must be 1 to 1048576", "")
		}
		out.MaxSize = int64(v) << 20
	}
	if v, ok := intOf(n.get("maxFiles")); ok {
		if v < 1 || v > 1000 {
			l.fail(n.get("maxFiles").pos, "logging.rotation.maxFiles", spell(n, "maxFiles")+" must be 1 to 1000", "")
		}
		out.MaxFiles = v
	}
}

// pythonLevels maps the level names of Python's logging.
var pythonLevels = map[string]string{
	"NOTSET": "trace", "DEBUG": "debug", "INFO": "info", "WARNING": "warn", "WARN": "warn", "ERROR": "error", "CRITICAL": "error", "FATAL": "error",
}

// dictConfig maps what has a counterpart here: the level and the handlers of the root
// logger or of the program's own one. The rest is a warning.
func (l *loader) dictConfig(out *Logging, s, version *node, levelSet bool) {
	const key = "logging"
	if version.text != "1" {
		l.fail(version.pos, key+".version", "logging.version must be 1, not "+quote(version.text), "")
	}
	for _, own := range []string{"level", "format", "file", "stream", "rotation"} {
		if n := s.get(own); n != nil {
			l.warn(n.pos, key+"."+own, key+"."+own+" has no effect beside version: 1", "remove version and the keys of the Python configuration")
		}
	}
	used := map[string]bool{}
	loggers := s.get("loggers")
	for _, logger := range []*node{s.get("root"), loggers.get("yacron2")} {
		if logger == nil || logger.kind != mapping {
			continue
		}
		if n := logger.get("level"); n != nil && !levelSet {
			out.Level = l.pythonLevel(n, out.Level)
		}
		if h := logger.get("handlers"); h != nil && h.kind == list {
			for _, item := range h.items {
				used[item.text] = true
				if s.get("handlers").get(item.text) == nil {
					l.warn(item.pos, key, "there is no handler "+quote(item.text), "")
				}
			}
		}
	}
	if h := s.get("handlers"); h != nil && h.kind == mapping {
		taken := ""
		for i := range h.entries {
			e := &h.entries[i]
			switch {
			case !used[e.key]:
				l.warn(e.pos, key+".handlers."+e.key, "the handler "+quote(e.key)+" is not used by the logger root or yacron2", "")
			case taken != "":
				l.warn(e.pos, key+".handlers."+e.key, "one log is written: the handler "+quote(taken)+" is used, "+quote(e.key)+" is not", "")
			case l.handler(out, e):
				taken = e.key
			}
		}
	}
	for _, rest := range []string{"formatters", "filters"} {
		if n := s.get(rest); n != nil {
			l.warn(n.pos, key+"."+rest, key+"."+rest+" of a Python logging configuration have no counterpart", "choose between the formats text and json with logFormat")
		}
	}
	if loggers != nil && loggers.kind == mapping {
		for i := range loggers.entries {
			if e := &loggers.entries[i]; e.key != "yacron2" {
				l.warn(e.pos, key+".loggers."+e.key, "the logger "+quote(e.key)+" has no counterpart", "")
			}
		}
	}
	l.warn(version.pos, key+".version", "a Python logging configuration is understood in part only", "use level, format, file and rotation")
}

func (l *loader) pythonLevel(n *node, fallback string) string {
	if level := pythonLevels[strings.ToUpper(n.text)]; level != "" {
		return level
	}
	l.warn(n.pos, "logging", "unknown level "+quote(n.text)+" is ignored", "")
	return fallback
}

// handler maps one handler of a dictConfig and reports whether it could.
func (l *loader) handler(out *Logging, e *entry) bool {
	h := e.value
	class := textOr(h.get("class"), "")
	switch class {
	case "logging.StreamHandler":
		if strings.HasSuffix(textOr(h.get("stream"), ""), "stdout") {
			out.Stream = "stdout"
		}
	case "logging.FileHandler", "logging.handlers.RotatingFileHandler", "logging.handlers.WatchedFileHandler":
		out.File = textOr(h.get("filename"), "")
		if out.File == "" {
			l.warn(e.pos, "logging.handlers."+e.key, "the handler "+quote(e.key)+" names no file", "")
			return false
		}
		if v, ok := intOf(h.get("maxBytes")); ok && v > 0 {
			out.MaxSize, out.MaxFiles = int64(v), 1
			if n, ok := intOf(h.get("backupCount")); ok && n > 0 {
				out.MaxFiles = n
			}
		}
	default:
		l.warn(e.pos, "logging.handlers."+e.key, "the handler class "+quote(class)+" has no counterpart", "stream, file and rotating file handlers are understood")
		return false
	}
	return true
}
