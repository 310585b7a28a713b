// Package scheduler turns jobs into firings and firings into runs.
package scheduler
