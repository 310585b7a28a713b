// Package run executes one command: its process group, output, time limits and exit.
//
// # A run
//
// Start launches the command in a session and process group of its own, with
// /dev/null as standard input, and never fails: a command that cannot be started
// gives a Process that is done already, with exit code 127 or 126 and the reason in
// Result.StartError. So a caller handles one kind of outcome, a Result.
//
// A run is over when its process has ended and every captured stream has reached its
// end. A helper left in the background may hold a pipe for ever; so the streams are
// given DrainWait after the process, then the pipes are closed and a note in the
// Result says so. The helper is not killed; it gets SIGPIPE if it goes on writing.
//
// Cancel and ExecutionTimeout send SIGTERM (and SIGCONT, for stopped processes) to
// the whole group and, after KillTimeout, SIGKILL. They are not satisfied by the end
// of the first process: a cancelled run is over when its group is empty or was sent
// SIGKILL. Processes that made themselves a session of their own are out of reach.
//
// # What a run costs
//
// One goroutine for the process, parked in the network poller on a pidfd (so no
// thread is blocked per running job), and one per captured stream. Streams read
// into pooled buffers which they take only when there is something to read: a silent
// job holds none. Nothing is left when Done is closed, with one exception: a
// goroutine that is stuck in a Write to Spec.Stdout or Spec.Stderr stays until that
// Write returns.
//
// # Output
//
// Captured bytes are split at newlines only. Each line is decoded as UTF-8 (invalid
// bytes become U+FFFD), retained as Stream says, kept in the live Log, and
// re-emitted with its prefix. Memory is bounded for any amount of output.
//
// # Waiting for children
//
// Every run waits for its own pid and for nothing else, so it cannot take the status
// of another child of this process. See Reaper for processes that are PID 1.
package run
