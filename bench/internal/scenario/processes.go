package scenario

import (
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/bench/internal/child"
	"github.com/holdfast-go/holdfast/bench/internal/contender"
)

// ContestRole is the name of the role of a process in a contest of several.
const ContestRole = "contest"

// part is what a process of a contest is told.
type part struct {
	Contender  string
	Addr       string
	Goroutines int
	Length     time.Duration
}

// PlayContest is the role of such a process: it connects, says so, and contends
// when it is told to.
func PlayContest(parent *child.Link) error {
	var p part
	if err := parent.Receive(&p); err != nil {
		return err
	}
	c, err := named(p.Contender)
	if err != nil {
		return err
	}
	l, err := c.Open(contender.Options{Addr: p.Addr, TTL: lockTTL})
	if err != nil {
		return err
	}
	pairs(l, 1, 0) // connects
	if err := parent.Send("ready"); err != nil {
		return err
	}
	var begin string
	if err := parent.Receive(&begin); err != nil {
		return err
	}
	got, err := contend(l, p.Goroutines, p.Length)
	if err != nil {
		return err
	}
	return errors.Join(parent.Send(got), l.Close())
}

func named(name string) (contender.Contender, error) {
	for _, c := range contender.All() {
		if c.Name == name {
			return c, nil
		}
	}
	return contender.Contender{}, fmt.Errorf("no contender %q", name)
}

// overProcesses has the same number of goroutines contend in several processes.
func overProcesses(e *Env, c contender.Contender, rtt, length time.Duration) (got contest, err error) {
	addr, err := e.at(rtt)
	if err != nil {
		return contest{}, err
	}
	var all []*child.Process
	defer func() {
		for _, p := range all {
			err = errors.Join(err, p.Close())
		}
	}()
	for range processes {
		p, err := child.Start(ContestRole)
		if err != nil {
			return contest{}, err
		}
		all = append(all, p)
		if err := p.Send(part{c.Name, addr, crowd / processes, length}); err != nil {
			return contest{}, err
		}
	}
	var word string
	for _, p := range all {
		if err := p.Receive(&word); err != nil {
			return contest{}, err
		}
	}
	for _, p := range all {
		if err := p.Send("begin"); err != nil {
			return contest{}, err
		}
	}
	for _, p := range all {
		var theirs contest
		if err := p.Receive(&theirs); err != nil {
			return contest{}, err
		}
		got.Contestants = append(got.Contestants, theirs.Contestants...)
		got.Length = max(got.Length, theirs.Length)
		got.End = max(got.End, theirs.End)
	}
	return got, nil
}
