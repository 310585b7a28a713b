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

// Run checks a Store, one call after the other.
func Run(t *testing.T, n New) {
	t.Helper()
	n.run(t, []test{
		{"Acquire", testAcquire},
		{"Contend", testContend},
		{"Renew", testRenew},
		{"Delete", testDelete},
		{"Revoke", testRevoke},
		{"Expire", testExpire},
		{"Release", testRelease},
		{"Watch", testWatch},
		{"Claim", testClaim},
		{"ClaimManyAtOnce", testClaimMany},
		{"ClaimsUnderContention", testContendedClaims},
		{"Reboot", testReboot},
		{"MarkRan", testMarkRan},
		{"Marks", testMarks},
		{"MarkWithClaim", testMarkWithClaim},
	})
}
