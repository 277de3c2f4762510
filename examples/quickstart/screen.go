package main

import (
	"fmt"
	"io"
	"strings"
)

// screen writes for people: lines of at most 80 columns, never one over again, so
// that it reads the same in a terminal, a pipe and a log.
type screen struct {
	w     io.Writer
	inRow int // marks in the row that is open
}

const (
	width    = 80
	indent   = "   "
	rowWidth = units // of the first row everybody got what there was to sell
)

func (s *screen) line(format string, args ...any) {
	s.endRow()
	fmt.Fprintln(s.w, strings.TrimRight(fmt.Sprintf(format, args...), " "))
}

// say is line, indented.
func (s *screen) say(format string, args ...any) { s.line(indent+format, args...) }

// row is say with something at the right edge.
func (s *screen) row(left, right string) { s.say("%-*s%8s", width-len(indent)-8, left, right) }

// title begins an act.
func (s *screen) title(format string, args ...any) {
	s.line("")
	s.line(format, args...)
}

// mark adds a buyer's mark to the row.
func (s *screen) mark(r result) {
	if s.inRow == 0 {
		fmt.Fprint(s.w, indent)
	}
	fmt.Fprintf(s.w, "%c", r)
	if s.inRow++; s.inRow == rowWidth {
		s.endRow()
	}
}

func (s *screen) endRow() {
	if s.inRow > 0 {
		s.inRow = 0
		fmt.Fprintln(s.w)
	}
}
