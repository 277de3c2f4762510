package main

var now = row{"State now", panels(
	number("Leases held", "Leases that are held at this moment.", "short", 1e9, 1e12,
		query{`sum(holdfast_lease_count{$of})`, ""}),
	number("Waiting", "Acquires under way at this moment.", "short", 100, 1000,
		query{`sum(holdfast_waiter_count{$of})`, ""}),
	number("Longest wait", "Age of the oldest acquire that is under way. A climb without end is somebody who starves.", "s", 10, 60,
		query{`max(holdfast_waiter_age_max_seconds{$of})`, ""}),
	number("Oldest lease", "Age of the oldest lease. Locks that are held for days, such as that of a leader, belong into a class of their own.", "s", 600, 3600,
		query{`max(holdfast_lease_age_max_seconds{$of})`, ""}),
	number("Breakers not closed", "Processes that have given Redis up.", "short", 1, 2,
		query{`sum(holdfast_breaker_status{$all, holdfast_state=~"open|half-open"})`, ""}),
	number("Degraded leases", "Leases that exclude one process alone.", "short", 1, 10,
		query{`sum(holdfast_lease_count{$of, holdfast_mode="degraded"})`, ""}),
)}

const (
	badCalls = `sum by (holdfast_class) (rate(holdfast_acquire_duration_seconds_count{$of, holdfast_outcome!="canceled", error_type=~"unavailable|refused|panic"}[$__rate_interval]))`
	allCalls = `sum by (holdfast_class) (rate(holdfast_acquire_duration_seconds_count{$of, holdfast_outcome!="canceled"}[$__rate_interval]))`
)

var slo = row{"Service level", panels(
	graph("Share of calls that failed", "Calls to which Redis, or the way to it, gave no answer. To find a lock held, or to give up while it is, is no failure: contention never burns the budget.", "percentunit",
		query{"(" + badCalls + " or 0 * " + allCalls + ") / " + allCalls, "{{holdfast_class}}"}),
	graph("Budget burn, by window", "How many times faster than a budget of 0.1 % allows. Needs the recording rules.", "short",
		query{`max(holdfast:acquire_errors:ratio_rate5m{job=~"$job", holdfast_class=~"$class"}) / 0.001`, "5 min"},
		query{`max(holdfast:acquire_errors:ratio_rate1h{job=~"$job", holdfast_class=~"$class"}) / 0.001`, "1 h"},
		query{`max(holdfast:acquire_errors:ratio_rate6h{job=~"$job", holdfast_class=~"$class"}) / 0.001`, "6 h"},
		query{`max(holdfast:acquire_errors:ratio_rate3d{job=~"$job", holdfast_class=~"$class"}) / 0.001`, "3 days"}),
	stacked("Leases lost", "Leases that ended under their holder, by how. Each is work that went on without the lock.", "short",
		query{`sum by (holdfast_reason) (increase(holdfast_lease_losses_total{$of}[$__rate_interval]))`, "{{holdfast_reason}}"}),
)}

var wait = row{"Wait", panels(
	heat("Waits", "All waits, from the call to its return. Each dot is one wait that was traced: open it, and follow the link of its span to the one who had the lock.", "s",
		"holdfast_acquire_duration_seconds", "$of"),
	withExemplars(graph("Wait, 99 of 100", "99 of 100 calls return within this time.", "s"),
		query{`histogram_quantile(0.99, sum by (le, holdfast_class) (rate(holdfast_acquire_duration_seconds_bucket{$of}[$__rate_interval])))`, "{{holdfast_class}}"}),
	graph("Wait, half of the calls", "Half of the calls return within this time. Where it is far below the 99, a few wait for long.", "s",
		query{`histogram_quantile(0.5, sum by (le, holdfast_class) (rate(holdfast_acquire_duration_seconds_bucket{$of}[$__rate_interval])))`, "{{holdfast_class}}"}),
)}

var contention = row{"Contention", panels(
	stacked("Calls, by how they ended", "acquired, contended, timeout, canceled, error, rejected.", "reqps",
		query{`sum by (holdfast_outcome) (rate(holdfast_acquire_duration_seconds_count{$of}[$__rate_interval]))`, "{{holdfast_outcome}}"}),
	graph("Waiting", "Acquires under way, by class.", "short",
		query{`sum by (holdfast_class) (holdfast_waiter_count{$of})`, "{{holdfast_class}}"}),
	graph("Longest wait under way", "Age of the oldest acquire, by class.", "s",
		query{`max by (holdfast_class) (holdfast_waiter_age_max_seconds{$of})`, "{{holdfast_class}}"}),
	stacked("What ended the waits", "handoff: a release passed the lock on. local: within one process. expiry: the holder's time had passed. poll: the message was lost. Much expiry means holders that die, much poll a subscription that is broken.", "reqps",
		query{`sum by (holdfast_wake) (rate(holdfast_attempts_total{$of, holdfast_wake!=""}[$__rate_interval]))`, "{{holdfast_wake}}"}),
	graph("Tries per lock that was got", "Close to 1: waiting costs Redis next to nothing.", "short",
		query{`sum by (holdfast_class) (rate(holdfast_attempts_total{$of}[$__rate_interval])) / sum by (holdfast_class) (rate(holdfast_attempts_total{$of, holdfast_result="granted"}[$__rate_interval]))`, "{{holdfast_class}}"}),
	graph("Share of time held", "Time for which locks of the class were held, per second: 1 is one lock that is never free.", "short",
		query{`sum by (holdfast_class) (rate(holdfast_hold_duration_seconds_sum{$of}[$__rate_interval]))`, "{{holdfast_class}}"}),
)}

var hold = row{"Hold", panels(
	heat("Holds", "For how long leases that ended were held.", "s", "holdfast_hold_duration_seconds", "$of"),
	graph("Hold, 99 of 100", "99 of 100 leases were held no longer than this.", "s",
		query{`histogram_quantile(0.99, sum by (le, holdfast_class) (rate(holdfast_hold_duration_seconds_bucket{$of}[$__rate_interval])))`, "{{holdfast_class}}"}),
	stacked("Leases that ended, by why", "All but released wants a look.", "reqps",
		query{`sum by (holdfast_end_reason) (rate(holdfast_hold_duration_seconds_count{$of}[$__rate_interval]))`, "{{holdfast_end_reason}}"}),
)}

var renewal = row{"Renewal", panels(
	graph("TTL left at renewal", "One in twenty renewals was confirmed with less of the TTL left than this. Two thirds is normal; below one third a renewal has failed.", "percentunit",
		query{`histogram_quantile(0.05, sum by (le, holdfast_class) (rate(holdfast_renewal_headroom_bucket{$of}[$__rate_interval])))`, "{{holdfast_class}}"}).Max(1),
	stacked("Renewals, by how they ended", "ok, or the type of the error.", "reqps",
		query{`label_replace(sum by (error_type) (rate(holdfast_renewal_duration_seconds_count{$of}[$__rate_interval])), "error_type", "ok", "error_type", "^$")`, "{{error_type}}"}),
	graph("Renewal, 99 of 100", "99 of 100 renewals took no longer than this.", "s",
		query{`histogram_quantile(0.99, sum by (le) (rate(holdfast_renewal_duration_seconds_bucket{$of}[$__rate_interval])))`, "renewal"}),
)}

var resilience = row{"Resilience", panels(
	graph("Breaker not closed", "1 while a process has given Redis up.", "short",
		query{`sum by (instance, holdfast_breaker) (holdfast_breaker_status{$all, holdfast_state=~"open|half-open"})`, "{{instance}} {{holdfast_breaker}}"}),
	stacked("Breaker transitions", "In an outage it is half-open for each trial and open again; closed comes once, at the end. Many of these are a breaker that flaps.", "short",
		query{`sum by (holdfast_to) (increase(holdfast_breaker_transitions_total{$all}[$__rate_interval]))`, "{{holdfast_to}}"}),
	graph("Share of time without Redis", "Share of the time in which the breaker was not closed.", "percentunit",
		query{`max by (instance) (rate(holdfast_degraded_time_seconds_total{$all}[$__rate_interval]))`, "{{instance}}"}).Max(1),
	graph("Degraded leases", "Leases that exclude one process alone. After an outage there are none.", "short",
		query{`sum by (holdfast_class) (holdfast_lease_count{$of, holdfast_mode="degraded"})`, "{{holdfast_class}}"}),
	stacked("Degraded leases when Redis was back", "promoted: in Redis from then on. conflict: another had the lock, and both may have worked.", "short",
		query{`sum by (holdfast_result) (increase(holdfast_degraded_reconciliations_total{$of}[$__rate_interval]))`, "{{holdfast_result}}"}),
	graph("Retries that were held back", "By the retry budget, so that retries do not become the outage.", "reqps",
		query{`sum by (holdfast_class) (rate(holdfast_retry_suppressed_total{$of}[$__rate_interval])) or 0 * sum by (holdfast_class) (rate(holdfast_attempts_total{$of}[$__rate_interval]))`, "{{holdfast_class}}"}),
)}

var redis = row{"Redis, as the locks see it", panels(
	stacked("Tries, by result", "What is asked of Redis. short_circuited is not: the breaker refused it.", "reqps",
		query{`sum by (holdfast_result) (rate(holdfast_attempts_total{$of}[$__rate_interval]))`, "{{holdfast_result}}"}),
	heat("Releases", "How long a release took: one command, so this is the round trip.", "s", "holdfast_release_duration_seconds", "$of"),
	stacked("Errors, by type", "Of calls, renewals and releases. unavailable: no answer. refused: it will go on refusing. not_held: a release of a lock that was not held any more.", "reqps",
		query{`sum by (error_type) (rate(holdfast_acquire_duration_seconds_count{$of, error_type!=""}[$__rate_interval]))`, "acquire: {{error_type}}"},
		query{`sum by (error_type) (rate(holdfast_renewal_duration_seconds_count{$of, error_type!=""}[$__rate_interval]))`, "renewal: {{error_type}}"},
		query{`sum by (error_type) (rate(holdfast_release_duration_seconds_count{$of, error_type!=""}[$__rate_interval]))`, "release: {{error_type}}"}),
)}
