// Package alerts has the Prometheus rules of holdfast, holdfast.rules.yml, and their
// tests, which promtool runs. There is no code in it.
package alerts
