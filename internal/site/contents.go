package main

// chapter is a heading of the navigation with its pages, by their names without ".md".
type chapter struct {
	title string
	pages []string
}

// contents is the order of all pages. A page of website/ that is not in it fails the
// build.
func contents() []chapter {
	return []chapter{
		{"Start", []string{"index", "install", "quickstart", "growing"}},
		{"Jobs", []string{"jobs", "schedules", "reporting"}},
		{"Configuration", []string{"configuration", "reference", "hcl", "crontab", "reload"}},
		{"Clusters", []string{"guarantees", "backends", "lease-backends", "certificates", "sizing"}},
		{"Operation", []string{"commands", "dashboard", "http-api", "metrics", "troubleshooting"}},
		{"Moving here", []string{"from-yacron2", "from-others"}},
		{"Inside", []string{"architecture", "figures", "contributing", "changelog"}},
	}
}
