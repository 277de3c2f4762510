package main

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func Example() {
	main()
	// Output:
	// acquired: acme:orders
	// refused: holdfast: acquire "globex:orders": the tenant is switched off
	// audit: report "acme:invoices" was slow to come: billing had it
	// acquired: acme:invoices
}
