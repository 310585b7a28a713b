package leasetest

import "testing"

// New makes a Setup for one test.
type New func(t *testing.T) *Setup

// test is one row of a suite.
type test struct {
	name string
	run  func(t *testing.T, s *Setup)
}

func (n New) run(t *testing.T, tests []test) {
	t.Helper()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { test.run(t, n(t)) })
	}
}

// runParallel runs tests that wait more than they compute.
func (n New) runParallel(t *testing.T, tests []test) {
	t.Helper()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, n(t))
		})
	}
}

// Run checks a Store, one call after the other. The leases of brief are soon over, which
// some tests wait for; those of lasting are not, even where a busy machine takes its time
// between two calls. A store whose holds do not end by themselves needs no difference.
func Run(t *testing.T, brief, lasting New) {
	t.Helper()
	brief.run(t, []test{
		{"Renew", testRenew},
		{"Expire", testExpire},
		{"Watch", testWatch},
	})
	lasting.run(t, []test{
		{"Acquire", testAcquire},
		{"Contend", testContend},
		{"Delete", testDelete},
		{"Revoke", testRevoke},
		{"Release", testRelease},
		{"Claim", testClaim},
		{"ClaimManyAtOnce", testClaimMany},
		{"ClaimsUnderContention", testContendedClaims},
		{"Reboot", testReboot},
		{"MarkRan", testMarkRan},
		{"Marks", testMarks},
		{"MarkWithClaim", testMarkWithClaim},
	})
}
