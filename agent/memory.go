package agent

import "runtime/debug"

// releaseMemory gives back to the system what reading a configuration took: much more
// than it leaves behind, and an idle agent would not need it again for hours.
func releaseMemory() {
	debug.FreeOSMemory()
	releaseCode()
}
