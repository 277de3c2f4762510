package main

import (
	"bytes"
	"os"
	"testing"
)

// The file that people import is what the code makes.
func TestFileIsUpToDate(t *testing.T) {
	want, err := render()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the code makes: go run .", file)
	}
}
