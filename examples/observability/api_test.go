package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"testing"
	"time"
)

// prom asks a Prometheus.
type prom struct {
	*testing.T
	url string
}

// get reads the data of an answer of the API into v.
func (p prom) get(path string, args url.Values, v any) {
	p.Helper()
	reply, err := http.Get(p.url + "/api/v1/" + path + "?" + args.Encode())
	if err != nil {
		p.Fatal(err)
	}
	defer reply.Body.Close()
	var answer struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err := json.NewDecoder(reply.Body).Decode(&answer); err != nil {
		p.Fatal(err)
	}
	if answer.Status != "success" {
		p.Fatalf("%s %v: %s", path, args, answer.Error)
	}
	if err := json.Unmarshal(answer.Data, v); err != nil {
		p.Fatal(err)
	}
}

// values are the numbers that a query returns; NaN is none.
func (p prom) values(query string) (all []float64) {
	p.Helper()
	var data struct {
		Result []struct{ Value [2]any }
	}
	p.get("query", url.Values{"query": {query}}, &data)
	for _, r := range data.Result {
		n, err := strconv.ParseFloat(fmt.Sprint(r.Value[1]), 64)
		if err != nil {
			p.Fatal(err)
		}
		if n == n {
			all = append(all, n)
		}
	}
	return all
}

// firing are the names of the alerts that fire.
func (p prom) firing() map[string]bool {
	p.Helper()
	var data struct {
		Alerts []struct {
			State  string
			Labels map[string]string
		}
	}
	p.get("alerts", nil, &data)
	names := make(map[string]bool)
	for _, a := range data.Alerts {
		if a.State == "firing" {
			names[a.Labels["alertname"]] = true
		}
	}
	return names
}

// rules are the expressions of all rules, by name and labels.
func (p prom) rules() map[string]string {
	p.Helper()
	var data struct {
		Groups []struct {
			Rules []struct {
				Name, Query, Health, LastError string
				Labels                         map[string]string
			}
		}
	}
	p.get("rules", nil, &data)
	all := make(map[string]string)
	for _, g := range data.Groups {
		for _, r := range g.Rules {
			if r.LastError != "" {
				p.Errorf("rule %s: %s", r.Name, r.LastError)
			}
			all[r.Name+" "+r.Labels["window"]] = r.Query
		}
	}
	return all
}

type exemplar struct {
	Labels map[string]string
	Value  string
}

func (p prom) exemplars(query string) (all []exemplar) {
	p.Helper()
	now := time.Now()
	var data []struct{ Exemplars []exemplar }
	p.get("query_exemplars", url.Values{"query": {query},
		"start": {fmt.Sprint(now.Add(-time.Minute).Unix())}, "end": {fmt.Sprint(now.Unix() + 1)}}, &data)
	for _, d := range data {
		all = append(all, d.Exemplars...)
	}
	return all
}
