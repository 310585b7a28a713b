package agent

import "github.com/yacron2/yacron2/agent/config"

// Load reads the configuration that opts name, exactly as New and Reload do, without
// running any of it.
func Load(opts Options) (*config.Config, config.Diagnostics) { return load(opts, nil) }

// Explain is Load, and fills Config.Explanation: each value, and where it came from.
func Explain(opts Options) (*config.Config, config.Diagnostics) {
	s := sources(opts)
	s.Explain = true
	return config.Load(s)
}

// CheckListen reports everything that would keep the HTTP API of web from serving: an
// address that cannot be bound, a certificate that cannot be used, a token that does
// not resolve. It binds each address for a moment, so that those of a running agent
// are reported as taken.
func CheckListen(web *config.Web) []error {
	var problems []error
	cfg, err := webSettings(web, "")
	if err != nil {
		problems = append(problems, err)
	}
	certs := &certificates{}
	certs.setFiles(cfg.certFile, cfg.keyFile)
	for _, address := range cfg.listen {
		l, err := listen(address, cfg.socketMode, certs)
		if err == nil {
			err = l.Close()
		}
		if err != nil {
			problems = append(problems, err)
		}
	}
	return problems
}

// Ping returns when the scheduler has answered. An agent whose scheduler hangs does not
// return from it, which is how a watchdog tells.
func (a *Agent) Ping() { a.dispatcher.Job("") }
