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
// On Linux one goroutine waits for all runs: an epoll instance of the package holds the
// pidfd of every process and the pipe of every captured stream, so a run that is
// silent costs descriptors, but no goroutine, no thread and no buffer. A stream gets a
// goroutine and a pooled buffer while there is something to read. Elsewhere there is
// one goroutine per process and per captured stream. Start may be called from a few
// goroutines at once: a fork waits until its child has called exec, and on a busy
// machine those waits pass together.
//
// Nothing is left when Done is closed and no other run goes on, with one exception: a
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
