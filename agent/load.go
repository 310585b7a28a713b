package agent

import "github.com/yacron2/yacron2/agent/config"

// Load reads the configuration that opts name, exactly as New and Reload do, without
// running any of it.
func Load(opts Options) (*config.Config, config.Diagnostics) { return load(opts) }
