// Package holdfasttest is for the tests of code that takes locks: a Client on a
// simulated Redis in one line, with no server to install and nothing to clean up.
//
//	func TestPayOut(t *testing.T) {
//		locks := holdfasttest.New(t)
//		if err := PayOut(t.Context(), locks, "account-7"); err != nil {
//			t.Fatal(err)
//		}
//	}
//
// It works inside a testing/synctest bubble, where a lease of an hour takes no
// time to end: the simulated Redis follows the bubble's clock. In a bubble pass the
// T that synctest.Test gives to the test's function, not the one around it.
//
// The simulation (miniredis) runs the same scripts as a real server. What it
// cannot show is how code behaves when the network or the server fails in odd
// ways; for that run a test on a real Redis.
package holdfasttest
