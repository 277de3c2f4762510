package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/child"
	"github.com/holdfast-go/holdfast/bench/internal/delay"
	"github.com/holdfast-go/holdfast/bench/internal/report"
	"github.com/holdfast-go/holdfast/bench/internal/scenario"
	"github.com/holdfast-go/holdfast/internal/redistest"
)

// roles are what this program is in its child processes.
var roles = map[string]child.Role{
	delay.Role:           delay.Play,
	scenario.ContestRole: scenario.PlayContest,
}

// settings are the flags.
type settings struct {
	args    []string // as they were given
	rounds  int
	seconds float64
	name    *regexp.Regexp
	quick   bool
	list    bool
	out     string
}

func main() {
	child.Main(roles)
	s, err := parse(os.Args[1:], os.Stderr)
	if err != nil {
		os.Exit(2)
	}
	os.Exit(s.main())
}

func parse(args []string, usage io.Writer) (s settings, err error) {
	s.args = args
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(usage)
	f.IntVar(&s.rounds, "rounds", 3, "how often each measurement runs")
	f.Float64Var(&s.seconds, "seconds", 2, "the length of one measurement, in seconds")
	f.BoolVar(&s.quick, "quick", false, "all small and one round, to see that it works; the figures mean nothing")
	f.BoolVar(&s.list, "list", false, "print the names of the scenarios")
	f.StringVar(&s.out, "out", "", "the Markdown `file` to write; the chart goes beside it")
	f.Func("scenario", "run only the scenarios whose names match the `regexp`", func(v string) (err error) {
		s.name, err = regexp.Compile(v)
		return err
	})
	if err := f.Parse(args); err != nil {
		return s, err
	}
	switch {
	case f.NArg() > 0:
		err = fmt.Errorf("bench takes no argument %q", f.Arg(0))
	case s.rounds < 1 || s.seconds <= 0:
		err = fmt.Errorf("rounds and seconds must be positive, are %d and %v", s.rounds, s.seconds)
	}
	if err != nil {
		fmt.Fprintln(usage, err)
	}
	if s.quick {
		s.rounds, s.seconds = 1, 0.1
	}
	return s, err
}

func (s settings) scenarios() []scenario.Scenario {
	all := scenario.All(s.quick)
	if s.name != nil {
		all = scenario.Select(all, s.name)
	}
	return all
}

func (s settings) main() (code int) {
	if s.list {
		for _, sc := range s.scenarios() {
			fmt.Println(sc.Name)
		}
		return 0
	}
	p := newProgram()
	defer p.end(&code)
	if err := s.run(redistest.Start(p).Addr(), os.Stdout, os.Stderr); err != nil {
		p.Fatalf("%v", err)
	}
	return 0
}

// run measures on the server at addr, and writes the page to out and where the
// flags say.
func (s settings) run(addr string, out, log io.Writer) error {
	all := s.scenarios()
	if len(all) == 0 {
		return fmt.Errorf("no scenario matches %v; see -list", s.name)
	}
	e := scenario.Open(addr, time.Duration(s.seconds*float64(time.Second)))
	defer e.Close()
	server, err := e.ServerVersion()
	if err != nil {
		return err
	}
	r := report.Report{Intro: s.intro(server), Notes: notes}
	r.Cells, r.Faults = scenario.Measure(e, all, s.rounds, log)
	return s.write(&r, out)
}

func (s settings) write(r *report.Report, out io.Writer) error {
	if s.out == "" {
		return r.Markdown(out, "")
	}
	chart := strings.TrimSuffix(s.out, filepath.Ext(s.out)) + ".svg"
	var page, picture bytes.Buffer
	if err := r.Markdown(&page, filepath.Base(chart)); err != nil {
		return err
	}
	if err := r.SVG(&picture); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(s.out), 0o777); err != nil {
		return err
	}
	if err := os.WriteFile(s.out, page.Bytes(), 0o666); err != nil {
		return err
	}
	if err := os.WriteFile(chart, picture.Bytes(), 0o666); err != nil {
		return err
	}
	_, err := page.WriteTo(out)
	return err
}
