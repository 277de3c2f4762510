package main

// The parent and its workers talk in lines of JSON: orders go to a worker's standard
// input, events come from its standard output.

// order tells a worker what to do.
type order struct {
	Do     string `json:"do"` // one of the constants below
	Guard  string `json:"guard,omitempty"`
	Buyers []int  `json:"buyers,omitempty"`
}

const (
	doSell   = "sell"   // serve the buyers, all at once, under the guard
	doRank   = "rank"   // begin to work out the bestsellers, again and again
	doRest   = "rest"   // stop that
	doReport = "report" // send what the metrics and spans hold; the last order
)

// What guards the stock in a sale.
const (
	guardNone     = "none"
	guardMutex    = "mutex"
	guardHoldfast = "holdfast"
)

// event tells the parent what happened in a worker.
type event struct {
	Worker   int     `json:"worker"`
	Kind     string  `json:"kind"` // one of the constants below
	Buyer    int     `json:"buyer,omitempty"`
	Result   result  `json:"result,omitempty"`
	Degraded bool    `json:"degraded,omitempty"` // of a ranking: the lease was
	Fenced   bool    `json:"fenced,omitempty"`   // of a ranking: the lease had a fence
	Error    string  `json:"error,omitempty"`
	Report   *report `json:"report,omitempty"`
}

const (
	isReady  = "ready"
	isServed = "served" // a buyer got a Result
	isRanked = "ranked" // the bestsellers were worked out
	isReport = "report"
	isGone   = "gone" // the process has ended
)

// result is how a buyer left. As a byte it is the buyer's mark on the screen.
type result byte

const (
	sold    result = '#'
	soldOut result = '.'
	refused result = 'x' // no lock since Redis is unavailable: nothing was read or written
	unsure  result = '?' // Redis did not answer in the middle of the sale
)
