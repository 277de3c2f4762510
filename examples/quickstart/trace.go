package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// spans are those of all workers, by their ID.
type spans map[string]span

func (all spans) add(worker int, ss []span) {
	for _, s := range ss {
		s.worker = worker
		all[s.ID] = s
	}
}

// children are the spans within s, the earliest first.
func (all spans) children(s span) (inner []span) {
	for _, c := range all {
		if c.Parent == s.ID {
			inner = append(inner, c)
		}
	}
	slices.SortFunc(inner, func(a, b span) int { return a.Start.Compare(b.Start) })
	return inner
}

// blocker is the span at the other end of a link of s: that of the holder who kept
// s waiting, if it was one of another process.
func (all spans) blocker(s span) (holder span, l link, ok bool) {
	for _, l := range s.Links {
		if holder, ok := all[l.Span]; ok && holder.worker != s.worker {
			return holder, l, true
		}
	}
	return span{}, link{}, false
}

// waiter picks an acquire to show: of those that got a unit after somebody in
// another process, the one that waited least, since it is the easiest to follow.
func (all spans) waiter() (span, bool) {
	var found []span
	for _, s := range all {
		if s.Name != "acquire "+classStock || s.Attrs["holdfast.outcome"] != "acquired" {
			continue
		}
		if _, _, ok := all.blocker(s); ok && all[s.Parent].Attrs["result"] == string(sold) {
			found = append(found, s)
		}
	}
	if len(found) == 0 {
		return span{}, false
	}
	return slices.MinFunc(found, func(a, b span) int { return cmp.Compare(a.duration(), b.duration()) }), true
}

// trace shows how one buyer waited, and for whom.
func (s *story) trace(all spans) {
	s.title("One trace: a buyer who waited, linked to the one of another process in its way")
	waiter, ok := all.waiter()
	s.claim(ok, "there was to be a waiter whose span is linked to one of another process")
	if ok {
		s.branch(all, all[waiter.Parent], "", "", true)
	}
}

// branch writes a span and what is within it, and follows a link to its blocker.
func (s *story) branch(all spans, sp span, head, stem string, follow bool) {
	s.row(head+sp.title(), short(sp.duration()))
	inner := all.children(sp)
	holder, l, linked := all.blocker(sp)
	if follow && linked {
		under := stem + "   "
		if len(inner) > 0 {
			under = stem + "│  "
		}
		s.row(under+"↳ link to its blocker: "+l.describe(), "")
		s.branch(all, all[holder.Parent], under+"  ", under+"  ", false)
	}
	for i, c := range inner {
		twig, next := "├─ ", "│  "
		if i == len(inner)-1 {
			twig, next = "└─ ", "   "
		}
		s.branch(all, c, stem+twig, stem+next, follow)
	}
}

func (sp span) title() string {
	switch sp.Name {
	case "buy":
		return fmt.Sprintf("buy   worker=%d buyer=%s trace=%.8s", sp.worker, sp.Attrs["buyer"], sp.Trace)
	case "acquire " + classStock:
		return fmt.Sprintf("%s   outcome=%s attempts=%s", sp.Name, sp.Attrs["holdfast.outcome"], sp.Attrs["holdfast.attempts"])
	}
	return sp.Name
}

// describe says who is at the other end, as the waiter learnt from Redis.
func (l link) describe() string {
	seconds, err := strconv.ParseFloat(l.Attrs["holdfast.holder.held_for"], 64)
	if err != nil {
		return l.Attrs["holdfast.holder.identity"]
	}
	granted := time.Duration(seconds * float64(time.Second))
	return fmt.Sprintf("%s, granted %s before", l.Attrs["holdfast.holder.identity"], short(granted))
}
