package main

import (
	"cmp"
	"html/template"
	"net/http"
	"slices"
)

// culprit is a wait and who was waited for, as the link from span to span tells.
type culprit struct{ Waiter, Holder *span }

// culprits are the longest waits whose holder's span is here too.
func (s *sink) culprits() (all []culprit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.spans {
		for _, id := range w.Links {
			if h := s.spans[id]; h != nil && len(w.Name) > 8 && w.Name[:8] == "acquire " {
				all = append(all, culprit{w, h})
				break
			}
		}
	}
	slices.SortFunc(all, func(a, b culprit) int { return cmp.Compare(b.Waiter.Seconds, a.Waiter.Seconds) })
	return all[:min(len(all), 50)]
}

var culpritsPage = template.Must(template.New("").Parse(`<!DOCTYPE html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Waits, by culprit</title>
<style>:root{color-scheme:light dark}body{font:15px system-ui,sans-serif;margin:2rem}td,th{text-align:left;padding:.3rem 1.2rem .3rem 0}code{font-size:.9em}</style>
<h1>The longest waits, and who had the lock</h1>
<p>Each row is a link from a waiter's span to the span of the holder, mostly of another process.</p>
<table><tr><th>waited</th><th>who</th><th>span</th><th>behind</th><th>its trace</th></tr>
{{range .}}<tr><td>{{printf "%.2f" .Waiter.Seconds}} s</td><td>{{.Waiter.Process}}</td><td>{{.Waiter.Name}} <code>{{.Waiter.Trace}}</code></td><td>{{.Holder.Process}}</td><td><code>{{.Holder.Trace}}</code></td></tr>
{{else}}<tr><td colspan="5">None yet: look again in a few seconds.</td></tr>{{end}}</table></html>`))

func (s *sink) show(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = culpritsPage.Execute(w, s.culprits()) // whoever asked may have gone
}
