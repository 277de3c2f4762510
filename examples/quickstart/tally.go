package main

// tally counts what the workers told since a sale began.
type tally struct {
	served   int
	results  map[result]int
	again    []int  // the buyers who will come again: refused or unsure
	problem  string // why, of the last of them
	rankings [workers]rankings
	reports  []event
}

// rankings are how often one worker worked the bestsellers out, by its lease.
type rankings struct{ fenced, degraded int }

func (t *tally) count(e event) {
	switch e.Kind {
	case isServed:
		t.served++
		t.results[e.Result]++
		if e.Error != "" {
			t.again, t.problem = append(t.again, e.Buyer), e.Error
		}
	case isRanked:
		r := &t.rankings[e.Worker-1]
		if e.Degraded {
			r.degraded++
		} else if e.Fenced {
			r.fenced++
		}
	case isReport:
		t.reports = append(t.reports, e)
	}
}

// allRanked tells whether each worker has worked the bestsellers out on a lease from
// Redis, or on a degraded one.
func (t *tally) allRanked(degraded bool) bool {
	for _, r := range t.rankings {
		if degraded && r.degraded == 0 || !degraded && r.fenced == 0 {
			return false
		}
	}
	return true
}
