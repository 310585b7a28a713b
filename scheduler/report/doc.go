// Package report tells people and systems how jobs went: by mail, to Sentry, through a
// shell command or a webhook, and run by run to statsd.
//
// Nothing here holds up a job. Report and the statsd methods put work into queues and
// return; deliveries go to lanes, one for each destination, of a few at a time, so that
// a server which hangs delays only what is meant for it. Queues are bounded in number
// and bytes; what does not fit is dropped, counted and logged.
//
// A delivery that failed for a moment, by a refused connection, a busy server or one
// that asks for patience, is tried again a few times with growing pauses. One that may
// have arrived, such as after a timeout, is not, since nobody wants it twice. Whatever
// becomes of it, a failed report is one line in the log, which names job, hook and
// reporter and holds no secret.
package report
