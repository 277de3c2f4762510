// Package cmd is the home of the project's programs. None is here yet: the first
// will be cmd/holdfast, a tool with which an operator looks at a lock and breaks it
// from a shell. Until then client.Inspect and client.Break, methods of
// holdfast.Client, serve for that from a program.
package cmd
