// Package uitest tests the dashboard as a person uses it: a real browser looks at real
// agents, which run jobs, fail, lose their leader and stop.
package uitest
