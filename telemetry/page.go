package telemetry

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"sync"

	"github.com/holdfast-go/holdfast/client"
)

// Page shows what the locks of this process do at this moment: an http.Handler
// for the port on which a service has its other debug pages. It serves at any
// prefix, HTML by default and JSON for ?format=json.
//
//	page := telemetry.NewPage()
//	locks, err := holdfast.New(rdb, holdfast.WithPage(page))
//	http.Handle("/debug/holdfast", page)
//
// It shows the leases and the waiters of all Clients that were made with it, who
// blocks whom, the breakers, the order of the pipelines, and the last hundred
// transitions. It reads memory alone, sends nothing to Redis and changes nothing.
// No token is ever shown. Instead of a key it shows a hash, unless WithRedaction
// says otherwise; it names classes, the identities of holders (see
// client.WithIdentity) and trace ids, so it is for those who may see the metrics,
// not for the world.
//
// A Client with a page also feeds the pprof profile HeldProfile. Page and profile
// cost an acquire and its release some 3 µs, and follow all leases whether or not
// anything is traced or measured. A Page is safe for concurrent use.
type Page struct {
	name func(key string) string
	log  transitions

	mu      sync.Mutex
	members []*Telemetry // in the order in which they were made
}

// PageOption configures a Page.
type PageOption func(*Page)

// WithRedaction sets how a Page names a lock: fn gets the key and returns what may
// be shown of it. It is called while the page is made, from several goroutines.
// Nil is the default, HashKey.
func WithRedaction(fn func(key string) string) PageOption {
	return func(p *Page) {
		if fn != nil {
			p.name = fn
		}
	}
}

// NewPage returns a Page that shows nothing yet; see WithPage.
func NewPage(opts ...PageOption) *Page {
	p := &Page{name: HashKey}
	for _, o := range opts {
		if o != nil {
			o(p)
		}
	}
	return p
}

// HashKey is how a Page names a lock by default: the first 12 digits of the SHA-256
// of its key. They are the same in every process, and whoever knows a key finds its
// lock with
//
//	printf %s KEY | sha256sum | cut -c-12
//
// So they keep a key from those who read the page, but not from one who can guess it.
func HashKey(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:6])
}

// WithPage has p show the locks that go through the Telemetry, and the pprof profile
// HeldProfile who holds them. Default, also for nil, none.
func WithPage(p *Page) Option {
	return func(c *config) { c.page = p }
}

// ClientInfo is what a Page tells of a Client that it cannot see for itself.
type ClientInfo struct {
	Identity string   // see client.WithIdentity
	Prefix   string   // of the Client's keys
	Pipeline []string // the names of its layers, outermost first
	Warnings []string // what in its options asks for trouble; shown as they are
}

// Describe tells the Telemetry's page, if it has one, of the Client that goes
// through it.
func (t *Telemetry) Describe(c ClientInfo) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.clients = append(t.clients, c)
}

func (p *Page) join(t *Telemetry) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.members = append(p.members, t)
}

func (p *Page) part(t *Telemetry) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.members = slices.DeleteFunc(slices.Clone(p.members), func(o *Telemetry) bool { return o == t })
}

func (p *Page) present() []*Telemetry {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.members
}

// asked is what a call wants.
type asked struct {
	key   string
	keys  []string // of several
	scope string
	mode  client.Mode
	slots int
}

// asked is nil where there is no page to show it.
func (p *Page) asked(req client.Request) *asked {
	if p == nil {
		return nil
	}
	return &asked{req.Key, req.Keys, req.Scope(), req.Mode, req.Slots}
}
