// Package history keeps what ran, and what did not and why.
//
// Everything is kept by job name: a job that was removed and comes back finds its
// history. What is kept is bounded for each job and in all, so that neither a job
// that fires every second nor ten thousand names that were used once take all memory;
// when the whole becomes too much, the job with the most records loses its oldest.
//
// There are two stores with one behaviour: Memory, and File, which is a Memory that
// writes down what it takes, survives a restart, and knows which runs were cut short.
package history
