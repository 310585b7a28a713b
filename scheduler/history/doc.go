// Package history keeps what ran, and what did not and why.
package history
