package telemetry

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"net/http"
)

//go:embed page.html page.css page.js
var assets embed.FS

// look is the HTML of a page. Style and script are inside it, and the policy lets in
// no others.
var look, policy = func() (*template.Template, string) {
	css, js := asset("page.css"), asset("page.js")
	t := template.Must(template.New("page.html").Funcs(pageFuncs).Funcs(template.FuncMap{
		"style":  func() template.CSS { return template.CSS(css) },
		"script": func() template.JS { return template.JS(js) },
	}).ParseFS(assets, "page.html"))
	return t, "default-src 'none'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
		"style-src " + hashSource(css) + "; script-src " + hashSource(js)
}()

func asset(name string) string {
	b, err := assets.ReadFile(name)
	if err != nil {
		panic(err) // it is embedded
	}
	return string(b)
}

// hashSource is how a content security policy names an inline text.
func hashSource(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// ServeHTTP serves the page at any path: HTML, or JSON for ?format=json. It answers
// GET and HEAD.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "the page is read-only", http.StatusMethodNotAllowed)
		return
	}
	var body bytes.Buffer
	var err error
	h := w.Header()
	switch format := r.URL.Query().Get("format"); format {
	case "", "html":
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", policy)
		err = look.Execute(&body, p.snapshot())
	case "json":
		h.Set("Content-Type", "application/json")
		e := json.NewEncoder(&body)
		e.SetIndent("", "  ")
		err = e.Encode(p.snapshot())
	default:
		http.Error(w, "format must be html or json", http.StatusBadRequest)
		return
	}
	if err != nil {
		http.Error(w, "the page could not be made", http.StatusInternalServerError)
		return
	}
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(body.Bytes()) // whoever asked may have gone
}
